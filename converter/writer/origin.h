// Describes which tensors of the checkpoint a model's tensors were made from. The model file stores this description,
// so that linformer-convert --from-lnfr can turn the model back into a checkpoint.
#pragma once

#include <cstdint>

#include "base/description.h"

namespace linformer::writer {

// The origin of rows [first_row, first_row + rows) of a tensor of the model file. Element (i, j, ...) of that tensor is
// element offset + (i - first_row) * strides[0] + j * strides[1] + ... of the checkpoint's tensor in row-major order.
struct SourcePiece {
  TensorIndex tensor = absent;
  uint64_t first_row = 0, rows = 0;
  uint64_t offset = 0;
  Array<uint64_t> strides;  // One stride for each dimension of the model file's tensor.
};

// A tensor of the checkpoint whose values are in the model file.
struct SourceTensor {
  String name;
  Array<uint64_t> shape;
  Array<SourcePiece> pieces;
};

struct Origin {
  Array<SourceTensor> tensors;
  String settings;  // A JSON object: the settings of --config and of the checkpoint that the conversion used.
};

}  // namespace linformer::writer
