// Small enums that several layers and the public headers share.
#pragma once

#include <cstdint>

#include "linformer/version.h"

namespace LINFORMER_NAMESPACE {

enum class ElementType : uint8_t { f32 = 0, bf16 = 1, f16 = 2, int8 = 3 /* with scales */ };

// row_major: as its shape says. panel16: a matrix B[K,N] (K inputs, N outputs; the transpose of
// PyTorch's Linear weight) as ceil(N/16) panels of 16 consecutive outputs, zero where padded; in a panel, 1 (f32, f16),
// 2 (bf16) or 4 (int8) consecutive inputs lie side by side for each output. Every instruction set's kernel reads it in
// place, and oneDNN knows that of f32 as BA16a16b. padded_rows: row-major with zeros up to the next multiple of 32
// elements; E of files of less than 32 bits.
enum class TensorLayout : uint8_t { row_major = 0, panel16 = 1, padded_rows = 2 };

enum class Activation : uint8_t {
  none = 0,
  relu,
  gelu,
  gelu_tanh,
  tanh,
  leaky_relu /* slope 0.01 */,
  sigmoid,
  silu /* x sigmoid(x); gated: SwiGLU */
};

enum class Isa : uint8_t { automatic = 0, scalar, avx2, avx512, neon };
enum class BackendKind : uint8_t { native = 0, onednn, openblas };

enum class ProjectionKind : uint8_t { linear = 0, convolution, mean_pool, max_pool, none /* full attention */ };
// What the attention of a layer does with positions that are masked (pads, and what the caller's mask says).
// zeroed: their K and V rows are zero, and count (Linformer's implementations). excluded: they are left out of the
// softmax (BERT and its kin; full attention only).
enum class RowMask : uint8_t { none = 0, zeroed, excluded };
// Where K and V come from: the layer's own rows, the rows that the caller passes as encoder states (cross attention),
// or those where they are passed and the layer's own otherwise.
enum class KeySource : uint8_t { own = 0, encoder_states, encoder_states_or_own };
enum class Pooling : uint8_t { first_token = 0, mean, mean_over_max_tokens, max, none /* token-level outputs */ };

// What a head's outputs are, and so what its probabilities hold (Output::probabilities).
enum class HeadKind : uint8_t {
  single_label = 0,  // one of at least two classes: softmax
  multi_label,       // any number of the classes: sigmoid of each
  score,             // one output: score_activation of it
  regression         // any number of outputs: the raw values, which are the logits
};

enum class TokenizerKind : uint8_t { none = 0, byte_bpe, wordpiece, unigram };

constexpr int64_t element_bytes(ElementType type) {
  return type == ElementType::f32 ? 4 : type == ElementType::int8 ? 1 : 2;
}
const char* name_of(ElementType);
const char* name_of(Activation);
const char* name_of(Isa);
const char* name_of(BackendKind);

}  // namespace LINFORMER_NAMESPACE
