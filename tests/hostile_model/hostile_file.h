// A small valid file, and functions that correct its checksums after an alteration, so that they don't reveal it.
#pragma once

#include <cstring>
#include <span>

#include "converter/writer/model_builder.h"
#include "format/tiny_model.h"
#include "io/container.h"
#include "io/hash.h"

namespace linformer_test {

class HostileFile {
 public:
  HostileFile() : HostileFile(TinyModel().builder.serialize()) {}
  explicit HostileFile(linformer::writer::AlignedBytes bytes) : bytes_(std::move(bytes)) {
    std::memcpy(&original_, bytes_.data(), sizeof original_);
  }

  std::byte* data() { return bytes_.data(); }
  size_t size() const { return bytes_.size(); }
  std::span<const std::byte> bytes() const { return bytes_; }
  const linformer::Header& original_header() const { return original_; }
  std::span<std::byte> metadata() {
    return {bytes_.data() + original_.metadata_offset, static_cast<size_t>(original_.metadata_bytes)};
  }
  std::span<const std::byte> tensors() const {
    return std::span<const std::byte>(bytes_).subspan(original_.tensor_offset);
  }

  // Sets the checksums of the metadata and of the header to those of the altered bytes.
  void fix_checksums() {
    linformer::Header header = original_;
    header.metadata_checksum = linformer::hash_bytes(metadata());
    write_header(header);
  }
  // Stores `header` with a right checksum of itself.
  void write_header(linformer::Header header) {
    header.header_checksum = linformer::checksum_of(header);
    std::memcpy(bytes_.data(), &header, sizeof header);
  }

 private:
  linformer::writer::AlignedBytes bytes_;
  linformer::Header original_;
};

// Returns a whole file of this metadata and tensor segment, with right checksums.
inline linformer::writer::AlignedBytes assemble(std::span<const std::byte> metadata,
                                                std::span<const std::byte> tensors) {
  const linformer::Header header = linformer::make_header(metadata, tensors.size()).value();
  linformer::writer::AlignedBytes file(header.tensor_offset + tensors.size());
  std::memset(file.data(), 0, file.size());
  std::memcpy(file.data(), &header, sizeof header);
  std::memcpy(file.data() + header.metadata_offset, metadata.data(), metadata.size());
  if (!tensors.empty()) std::memcpy(file.data() + header.tensor_offset, tensors.data(), tensors.size());
  return file;
}

}  // namespace linformer_test
