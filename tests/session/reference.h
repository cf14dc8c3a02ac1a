// The encoder in double precision, written from the description alone and sharing no code with the runtime's
// executor: one text at a time, every matrix whole, the paper's order or fairseq's as the projection says.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/description.h"
#include "linformer/model.h"

namespace linformer_test {

using Matrix = std::vector<double>;  // row-major

struct ReferenceOutputs {
  std::vector<Matrix> hidden;  // [layers + 1] of [n, d]: embedding, then after each layer
  Matrix encoded;              // [n, d]: after the final norm where there is one
};

// `ids` as the encoder sees them (pads already removed, or kept on purpose).
ReferenceOutputs reference_encode(const linformer::Model& model, std::span<const int32_t> ids);
// [classes] of head `head`; from the encoded first row.
Matrix reference_logits(const linformer::Model& model, const Matrix& encoded, int head);
// [vocabulary] at `row`.
Matrix reference_mlm(const linformer::Model& model, const Matrix& encoded, int64_t row);
// The values of a tensor in the checkpoint's own order, whatever its type and layout.
Matrix reference_tensor(const linformer::Model& model, linformer::TensorIndex index);

}  // namespace linformer_test
