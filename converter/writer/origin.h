// Where a model's tensors came from, kept in the file for the way back (linformer-convert --from-lnfr).
#pragma once

#include <cstdint>

#include "base/description.h"

namespace linformer::writer {

// Rows [first_row, first_row + rows) of a tensor of the file: element (i, j, ...) of it is element
// offset + (i - first_row) * strides[0] + j * strides[1] + ... of the checkpoint's tensor in row-major order.
struct SourcePiece {
  TensorIndex tensor = absent;
  uint64_t first_row = 0, rows = 0;
  uint64_t offset = 0;
  Array<uint64_t> strides;  // one for each dimension of the file's tensor
};

// A tensor of the checkpoint whose values are in the file.
struct SourceTensor {
  String name;
  Array<uint64_t> shape;
  Array<SourcePiece> pieces;
};

struct Origin {
  Array<SourceTensor> tensors;
  String settings;  // JSON object: what the conversion took from --config or from the checkpoint's settings
};

}  // namespace linformer::writer
