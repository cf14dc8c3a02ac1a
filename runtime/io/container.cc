#include "io/container.h"

#include <algorithm>
#include <bit>
#include <cinttypes>
#include <cstring>

#include "base/checked.h"
#include "io/hash.h"

namespace LINFORMER_NAMESPACE {
namespace {

static_assert(std::endian::native == std::endian::little, "files are little endian and used in place");

constexpr uint32_t byte_swapped(uint32_t value) { return __builtin_bswap32(value); }

Status check_magic(std::span<const std::byte> file) {
  constexpr size_t size = container_magic.size();
  if (file.size() < size || std::memcmp(file.data(), container_magic.data(), size) != 0) {
    constexpr unsigned char text_mode_copy[] = {0x89, 'L', 'N', 'F', 'R', '\n'};
    if (file.size() >= sizeof text_mode_copy && std::memcmp(file.data(), text_mode_copy, sizeof text_mode_copy) == 0) {
      return Status::error(Code::corrupt_file,
                           "the file was copied as text, which changed its line ends: copy it again in binary mode");
    }
    if (file.size() >= 5 && std::memcmp(file.data() + 1, "LNFR", 4) == 0) {
      return Status::error(Code::corrupt_file,
                           "the first 8 bytes of the model file are damaged: copy or convert it again");
    }
    return Status::error(Code::corrupt_file,
                         "this is not a .lnfr model file: convert the checkpoint with linformer-convert");
  }
  return {};
}

Status check_version(const Header& header) {
  if (header.version == container_version) return {};
  if (byte_swapped(header.version) == container_version) {
    return Status::error(Code::unsupported, "the file's numbers are big endian: convert the checkpoint again");
  }
  if (header.version == 0)
    return Status::error(Code::corrupt_file, "format version is 0: convert the checkpoint again");
  return Status::error(Code::unsupported,
                       "format version is %" PRIu32 ", this build reads %" PRIu32
                       ": use a newer linformer or convert the checkpoint again",
                       header.version, container_version);
}

Status check_layout(const Header& header, uint64_t file_size) {
  if (header.header_bytes != header_bytes) {
    return Status::error(Code::corrupt_file,
                         "the header claims %" PRIu32 " bytes instead of %" PRIu32 ": convert the checkpoint again",
                         header.header_bytes, header_bytes);
  }
  if (header.metadata_offset != header_bytes) {
    return Status::error(Code::corrupt_file,
                         "the metadata begins at byte %" PRIu64 " instead of %" PRIu32 ": convert the checkpoint again",
                         header.metadata_offset, header_bytes);
  }
  if (header.metadata_bytes == 0 || header.metadata_bytes > max_metadata_bytes) {
    return Status::error(Code::corrupt_file,
                         "the metadata claims %" PRIu64 " bytes, 1 to %" PRIu64
                         " are possible: convert the checkpoint again",
                         header.metadata_bytes, max_metadata_bytes);
  }
  if (!range_within(header.metadata_offset, header.metadata_bytes, file_size)) {
    return Status::error(Code::corrupt_file,
                         "the metadata ends beyond the file's %" PRIu64 " bytes (%" PRIu64 " bytes from %" PRIu64
                         "): the file is cut, copy it again",
                         file_size, header.metadata_bytes, header.metadata_offset);
  }
  uint64_t expected_offset = 0;
  if (!checked_round_up(header.metadata_offset + header.metadata_bytes, segment_alignment, &expected_offset) ||
      header.tensor_offset != expected_offset) {
    return Status::error(Code::corrupt_file,
                         "the tensor segment begins at byte %" PRIu64 " instead of %" PRIu64
                         ": convert the checkpoint again",
                         header.tensor_offset, expected_offset);
  }
  if (!range_within(header.tensor_offset, header.tensor_bytes, file_size)) {
    return Status::error(Code::corrupt_file,
                         "the tensor segment ends beyond the file's %" PRIu64 " bytes (%" PRIu64 " bytes from %" PRIu64
                         "): the file is cut, copy it again",
                         file_size, header.tensor_bytes, header.tensor_offset);
  }
  if (const uint64_t trailing = file_size - header.tensor_offset - header.tensor_bytes; trailing != 0) {
    return Status::error(Code::corrupt_file,
                         "%" PRIu64 " bytes follow the tensor segment: copy or convert the file again", trailing);
  }
  return {};
}

bool all_zero(std::span<const std::byte> bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](std::byte b) { return b == std::byte{0}; });
}

}  // namespace

uint64_t checksum_of(const Header& header) {
  const std::span<const Header> one(&header, 1);
  return hash_bytes(std::as_bytes(one).first(offsetof(Header, header_checksum)));
}

Result<Container> parse_container(std::span<const std::byte> file) {
  LINFORMER_TRY(check_magic(file));
  if (file.size() < header_bytes) {
    return Status::error(Code::corrupt_file,
                         "the file ends inside its header (%zu of %" PRIu32 " bytes): copy it again", file.size(),
                         header_bytes);
  }
  Header header;
  std::memcpy(&header, file.data(), sizeof header);
  // The version is checked before the checksum, so that a later version may have another header layout.
  LINFORMER_TRY(check_version(header));
  if (checksum_of(header) != header.header_checksum) {
    return Status::error(Code::corrupt_file,
                         "the header's checksum differs: the file is damaged, copy or convert it again");
  }
  LINFORMER_TRY(check_layout(header, file.size()));
  const auto metadata = file.subspan(header.metadata_offset, header.metadata_bytes);
  if (hash_bytes(metadata) != header.metadata_checksum) {
    return Status::error(Code::corrupt_file,
                         "the metadata's checksum differs: the file is damaged, copy or convert it again");
  }
  const uint64_t metadata_end = header.metadata_offset + header.metadata_bytes;
  if (!all_zero(file.subspan(metadata_end, header.tensor_offset - metadata_end))) {
    return Status::error(Code::corrupt_file,
                         "the padding after the metadata is not zero: copy or convert the file again");
  }
  return Container{metadata, file.subspan(header.tensor_offset, header.tensor_bytes)};
}

Result<Header> make_header(std::span<const std::byte> metadata, uint64_t tensor_size) {
  Header header{};
  header.magic = container_magic;
  header.version = container_version;
  header.header_bytes = header_bytes;
  header.metadata_offset = header_bytes;
  header.metadata_bytes = metadata.size();
  if (metadata.empty() || metadata.size() > max_metadata_bytes) {
    return Status::error(Code::too_long, "the metadata has %zu bytes, 1 to %" PRIu64 " are possible", metadata.size(),
                         max_metadata_bytes);
  }
  uint64_t file_size = 0;
  if (!checked_round_up(header.metadata_offset + header.metadata_bytes, segment_alignment, &header.tensor_offset) ||
      !checked_add(header.tensor_offset, tensor_size, &file_size)) {
    return Status::error(Code::too_long, "the tensors' %" PRIu64 " bytes exceed what a file can hold", tensor_size);
  }
  header.tensor_bytes = tensor_size;
  header.metadata_checksum = hash_bytes(metadata);
  header.header_checksum = checksum_of(header);
  return header;
}

}  // namespace LINFORMER_NAMESPACE
