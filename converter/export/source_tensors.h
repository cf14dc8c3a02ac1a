// Restores the tensors of a checkpoint from the pieces of them that a model file holds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/description.h"
#include "linformer/model.h"
#include "model/flatbuffers_compat.h"

namespace linformer::convert {

// A tensor of the checkpoint. It refers to the bytes of the model file, which must outlive it.
struct SourceTensor {
  std::string name;
  std::vector<uint64_t> shape;
  uint64_t elements = 0;
  ElementType type = ElementType::f32;  // The type of the pieces, or f32 if their types differ or are int8.
  std::vector<TensorIndex> used;        // The tensors of the model that hold the first pieces, for the report.
  const schema::SourceTensor* record = nullptr;

  uint64_t bytes() const { return elements * static_cast<uint64_t>(element_bytes(type)); }
};

// Reads the list of checkpoint tensors from the metadata of a model file. `model` must have been loaded from the same
// file. Throws Error, which names the tensor, unless names are unique texts, every piece lies inside the model's tensor
// and inside the checkpoint's, and all tensors together are at most export_growth times as large as the file.
std::vector<SourceTensor> read_sources(std::span<const std::byte> metadata, const Model& model);

// The largest ratio of the checkpoint's size to the model file's. A checkpoint can be larger because shared tensors are
// stored once in the model file, such as a matrix that all heads of all layers use, and written under every name.
inline constexpr uint64_t export_growth = 64;

// The values of a tensor, in row-major order and in the tensor's type. Values that the model file lacks are 0.
struct TensorValues {
  std::vector<std::byte> bytes;
  uint64_t missing = 0;  // The number of elements that no piece holds.
};
// Collects the values of a tensor from its pieces. Throws Error if the pieces hold an element twice.
TensorValues collect_values(const SourceTensor& tensor, const Model& model);

}  // namespace linformer::convert
