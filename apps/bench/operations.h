// How much arithmetic a text is, by the model's description.
#pragma once

#include <cstdint>

#include "linformer/description.h"

namespace linformer::bench {

// Floating-point operations (a multiply-add is two) of the encoder for one text of n tokens, with each product in its
// cheaper order. For a fairseq layer with E = F that is, in multiply-adds,
//   2 n d^2 (query, output) + 2 n d ffn + n k d (E X) + 2 k d^2 (key, value) + 2 n k d (scores, context).
// Norms, activations, softmax, embedding and heads aren't counted: they are no multiply-adds of matrices.
double encoder_operations(const ModelDescription& model, int64_t n);

}  // namespace linformer::bench
