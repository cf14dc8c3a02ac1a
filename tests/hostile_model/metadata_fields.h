// Finds the place of each number in a metadata section by following the schema.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace linformer_test {

struct MetadataField {
  std::string path;  // "encoder.layers[0].attention.heads"
  size_t offset;     // bytes from the start of the metadata
  size_t bytes;      // 1, 2, 4 or 8
  bool floating;
  bool length;  // whether it is the length of a vector or string
};

// Returns every scalar that is stored, every element of scalar vectors, and the lengths of vectors and strings.
// `metadata` must be well-formed and 8-byte aligned.
std::vector<MetadataField> metadata_fields(std::span<const std::byte> metadata);

}  // namespace linformer_test
