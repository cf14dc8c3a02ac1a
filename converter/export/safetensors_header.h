// The beginning of a safetensors file.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "linformer/types.h"

namespace linformer::convert {

struct SafetensorsEntry {
  std::string name;  // UTF-8, unique
  std::vector<uint64_t> shape;
  ElementType type;  // f32, bf16 or f16
  uint64_t bytes;
};

// The length and the header, after which the entries' data follows in this order. A multiple of 8 bytes long, so that
// data of decreasing widths is aligned. Throws Error beyond the format's 100 MB.
std::string safetensors_header(const std::vector<std::pair<std::string, std::string>>& metadata,
                               std::span<const SafetensorsEntry> entries);

}  // namespace linformer::convert
