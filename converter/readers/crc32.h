// CRC-32 as zip archives use it. zlib's is not taken because the converter is also built for machines for which there is
// no zlib (tests/targets): those builds have libraries of headers only, and utf8proc.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace linformer::convert {

uint32_t crc32(std::span<const std::byte> bytes);

}  // namespace linformer::convert
