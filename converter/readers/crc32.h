// The CRC-32 of zip archives. It is implemented here because the converter is also built for targets without zlib
// (tests/targets), which have only utf8proc and header-only libraries.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace linformer::convert {

uint32_t crc32(std::span<const std::byte> bytes);

}  // namespace linformer::convert
