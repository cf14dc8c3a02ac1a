// A reference encoder in double precision. It reads the model's description and shares no code with the runtime's
// executor. It computes one text at a time, with whole matrices, in the order that the projection names (the paper's or
// fairseq's).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/description.h"
#include "linformer/model.h"

namespace linformer_test {

using Matrix = std::vector<double>;  // Row-major.

struct ReferenceOutputs {
  std::vector<Matrix> hidden;  // layers + 1 matrices [n, d]: the embedding, and the rows after each layer.
  Matrix encoded;              // [n, d]; the rows after the final norm if the model has one.
};

// Runs the encoder. Padding that the encoder should not see must already be removed from `ids`.
ReferenceOutputs reference_encode(const linformer::Model& model, std::span<const int32_t> ids);
// Returns the logits of head `head`, [classes], computed from the first encoded row.
Matrix reference_logits(const linformer::Model& model, const Matrix& encoded, int head);
// Returns the masked-LM logits at `row`, [vocabulary].
Matrix reference_mlm(const linformer::Model& model, const Matrix& encoded, int64_t row);
// Returns the values of a tensor of any type and layout in the order of the checkpoint.
Matrix reference_tensor(const linformer::Model& model, linformer::TensorIndex index);

}  // namespace linformer_test
