// The checkpoint's tensors again, from the pieces that a model file has of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/description.h"
#include "linformer/model.h"
#include "model/flatbuffers_compat.h"

namespace linformer::convert {

// A tensor of the checkpoint. Refers into the model file.
struct SourceTensor {
  std::string name;
  std::vector<uint64_t> shape;
  uint64_t elements = 0;
  ElementType type = ElementType::f32;  // that of its pieces; f32 where they differ or are int8
  std::vector<TensorIndex> used;        // the tensors of the model that hold its first pieces, for the report
  const schema::SourceTensor* record = nullptr;

  uint64_t bytes() const { return elements * static_cast<uint64_t>(element_bytes(type)); }
};

// What the file at hand says of its origin. `metadata` is that of `model`, which was loaded from the same bytes.
// Nothing is taken on trust: names are unique texts, every piece lies inside the model's tensor and inside the
// checkpoint's, and all tensors together are at most export_growth times as large as the file.
// Throws Error naming the tensor.
std::vector<SourceTensor> read_sources(std::span<const std::byte> metadata, const Model& model);

// Honest files grow by what they share: a matrix that all heads of all layers use is stored once and written under
// every name.
inline constexpr uint64_t export_growth = 64;

// The tensor's values in row-major order and its type. Values that the file lacks are 0.
struct Gathered {
  std::vector<std::byte> bytes;
  uint64_t missing = 0;  // elements that no piece holds
};
// Throws Error when two pieces hold the same element.
Gathered gather(const SourceTensor& tensor, const Model& model);

}  // namespace linformer::convert
