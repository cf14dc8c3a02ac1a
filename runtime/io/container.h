// The outer shape of a .lnfr file: header, metadata section, tensor segment. schema/FORMAT.md draws it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "linformer/status.h"
#include "linformer/version.h"

namespace LINFORMER_NAMESPACE {

// Each byte after the letters turns a common accident into an error: 0x89 a 7-bit channel, \r\n a text-mode copy,
// \x1a a terminal or DOS copy.
inline constexpr std::array<unsigned char, 8> container_magic = {0x89, 'L', 'N', 'F', 'R', '\r', '\n', 0x1a};
inline constexpr uint32_t container_version = 1;
inline constexpr uint32_t header_bytes = 64;
inline constexpr uint64_t segment_alignment = 4096;  // the tensor segment: a page, so that it can be mapped alone
inline constexpr uint64_t tensor_alignment = 64;     // a cache line and the widest vector
inline constexpr uint64_t max_metadata_bytes = (uint64_t{1} << 31) - 1;  // flatbuffers' own limit

// Little endian, exactly as in the file.
struct Header {
  std::array<unsigned char, 8> magic;
  uint32_t version;
  uint32_t header_bytes;
  uint64_t metadata_offset;  // bytes from the start of the file
  uint64_t metadata_bytes;
  uint64_t tensor_offset;  // bytes from the start of the file; a multiple of segment_alignment
  uint64_t tensor_bytes;
  uint64_t metadata_checksum;  // XXH3-64
  uint64_t header_checksum;    // XXH3-64 of the 56 bytes before it
};
static_assert(sizeof(Header) == header_bytes);

struct Container {
  std::span<const std::byte> metadata;  // 64-byte aligned when the file is
  std::span<const std::byte> tensors;
};

// Checks the header, the sizes, the padding and both checksums; O(metadata). `file` must be 64-byte aligned and
// the views live as long as it. Errors: corrupt_file, or unsupported for another version or byte order.
Result<Container> parse_container(std::span<const std::byte> file);

// The header and its place for everything else, for writers. `metadata_size` and `tensor_size` in bytes; the file's
// size is tensor_offset + tensor_bytes. too_long when the metadata exceeds max_metadata_bytes.
Result<Header> make_header(std::span<const std::byte> metadata, uint64_t tensor_size);
// The checksum that belongs into header.header_checksum.
uint64_t checksum_of(const Header& header);

}  // namespace LINFORMER_NAMESPACE
