// CRC-32 as zip archives use it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace linformer::convert {

uint32_t crc32(std::span<const std::byte> bytes);

}  // namespace linformer::convert
