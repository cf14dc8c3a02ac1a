// Small enums that describe a model inside; with the public ones.
#pragma once

#include "linformer/types.h"

namespace LINFORMER_NAMESPACE {

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

enum class ProjectionKind : uint8_t { linear = 0, convolution, mean_pool, max_pool, none /* full attention */ };
// What compressed row j of a text of n rows is multiplied by. inverse_root: 1 / sqrt(n) (CALD). restored_norm: the norm
// of row j of E over that of its first n elements (masked-linformer). Both keep a row's size when a text is short.
enum class LengthScale : uint8_t { none = 0, inverse_root, restored_norm };
// layer: (x - mean) / root(variance + epsilon). rms: x / root(mean of x^2 + epsilon). Then times a scale, and plus a bias
// where there is one. Ba et al. 2016; Zhang and Sennrich 2019.
enum class NormKind : uint8_t { layer = 0, rms };
// What the attention of a layer does with positions that are masked (pads, and what the caller's mask says).
// zeroed: their K and V rows are zero, and count (Linformer's implementations). excluded: they are left out of the
// softmax (BERT and its kin; full attention only).
enum class RowMask : uint8_t { none = 0, zeroed, excluded };
// Where K and V come from: the layer's own rows, the rows that the caller passes as encoder states (cross attention),
// or those where they are passed and the layer's own otherwise.
enum class KeySource : uint8_t { own = 0, encoder_states, encoder_states_or_own };

constexpr int64_t element_bytes(ElementType type) {
  return type == ElementType::f32 ? 4 : type == ElementType::int8 ? 1 : 2;
}
const char* name_of(Activation);

}  // namespace LINFORMER_NAMESPACE
