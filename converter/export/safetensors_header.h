// Writes the header of a safetensors file.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "linformer/types.h"

namespace linformer::convert {

struct SafetensorsEntry {
  std::string name;  // UTF-8. The names of a file must be unique.
  std::vector<uint64_t> shape;
  ElementType type;  // f32, bf16 or f16.
  uint64_t bytes;
};

// Returns the length field and the header; the data of the entries must follow it in their order. The result is a
// multiple of 8 bytes long, so that the data of each entry is aligned if the entries are ordered by decreasing element
// size. Throws Error if the header exceeds the 100 MB that the format allows.
std::string safetensors_header(const std::vector<std::pair<std::string, std::string>>& metadata,
                               std::span<const SafetensorsEntry> entries);

}  // namespace linformer::convert
