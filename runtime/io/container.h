// The container of a .lnfr file: header, metadata section and tensor segment. schema/FORMAT.md shows the layout.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "linformer/status.h"
#include "linformer/version.h"

namespace LINFORMER_NAMESPACE {

// Each byte besides the letters turns a common accident into an error: 0x89 detects a 7-bit channel, \r\n a copy in
// text mode, and \x1a (end of file in DOS) output on a terminal or a copy by DOS.
inline constexpr std::array<unsigned char, 8> container_magic = {0x89, 'L', 'N', 'F', 'R', '\r', '\n', 0x1a};
inline constexpr uint32_t container_version = 1;
inline constexpr uint32_t header_bytes = 64;
inline constexpr uint64_t segment_alignment = 4096;  // Of the tensor segment: a page, so that it can be mapped alone.
inline constexpr uint64_t tensor_alignment = 64;     // Of each tensor: a cache line, and the widest vector register.
inline constexpr uint64_t max_metadata_bytes = (uint64_t{1} << 31) - 1;  // The limit of FlatBuffers.

// The header as it lies in the file, in little endian.
struct Header {
  std::array<unsigned char, 8> magic;
  uint32_t version;
  uint32_t header_bytes;
  uint64_t metadata_offset;  // In bytes from the start of the file.
  uint64_t metadata_bytes;
  uint64_t tensor_offset;  // In bytes from the start of the file; a multiple of segment_alignment.
  uint64_t tensor_bytes;
  uint64_t metadata_checksum;  // XXH3-64 of the metadata section.
  uint64_t header_checksum;    // XXH3-64 of the 56 bytes before it.
};
static_assert(sizeof(Header) == header_bytes);

struct Container {
  std::span<const std::byte> metadata;  // Aligned to 64 bytes if the file is.
  std::span<const std::byte> tensors;
};

// Checks the header, the sizes, the padding and both checksums, in time O(metadata). `file` must be aligned to 64 bytes
// and must outlive the views that are returned. Errors: corrupt_file, or unsupported for another version or byte order.
Result<Container> parse_container(std::span<const std::byte> file);

// Returns the header of a file with this metadata and `tensor_size` bytes of tensors. Its offsets tell a writer where
// the metadata and the tensors belong; the size of the file is tensor_offset + tensor_bytes. Returns too_long if the
// metadata is empty or exceeds max_metadata_bytes, or if the size of the file overflows.
Result<Header> make_header(std::span<const std::byte> metadata, uint64_t tensor_size);
// Computes the value of header.header_checksum.
uint64_t checksum_of(const Header& header);

}  // namespace LINFORMER_NAMESPACE
