// Enums of a model's description that only the library itself uses. Includes the public enums.
#pragma once

#include "linformer/types.h"

namespace LINFORMER_NAMESPACE {

// How the elements of a tensor are laid out in the file.
// row_major: in the order of the shape.
// panel16: a matrix B[K, N] (K inputs, N outputs; the transpose of PyTorch's Linear weight) as ceil(N / 16) panels of
// 16 successive outputs, padded with zeros. In a panel, 1 (f32, f16), 2 (bf16) or 4 (int8) successive inputs lie side
// by side for each output. The kernels of every instruction set read it in place. oneDNN calls the f32 form BA16a16b.
// padded_rows: row-major, with each row padded with zeros to a multiple of 32 elements. It is used for the matrices E
// of linear projections, in files whose weights have fewer than 32 bits.
enum class TensorLayout : uint8_t { row_major = 0, panel16 = 1, padded_rows = 2 };

enum class Activation : uint8_t {
  none = 0,
  relu,
  gelu,
  gelu_tanh,
  tanh,
  leaky_relu /* slope 0.01 */,
  sigmoid,
  silu /* x sigmoid(x); SwiGLU if the layer is gated */
};

enum class ProjectionKind : uint8_t { linear = 0, convolution, mean_pool, max_pool, none /* full attention */ };
// The factor of compressed row j in a sequence of n rows. inverse_root: 1 / sqrt(n) (CALD). restored_norm: the norm of
// row j of E divided by the norm of the row's first n elements (masked-linformer). Both keep the magnitude of
// compressed rows if a sequence is short.
enum class LengthScale : uint8_t { none = 0, inverse_root, restored_norm };
// layer: (x - mean) / sqrt(variance + epsilon). rms: x / sqrt(mean of x^2 + epsilon). The result is multiplied by a
// scale, and a bias is added if the norm has one. Sources: Ba et al. 2016; Zhang and Sennrich 2019.
enum class NormKind : uint8_t { layer = 0, rms };
// How attention treats the keys and values of masked positions (padding, and positions that the caller masks).
// zeroed: they are set to zero and still count (Linformer's implementations). excluded: they are left out of the
// softmax (BERT and related models; full attention only).
enum class RowMask : uint8_t { none = 0, zeroed, excluded };
// The source of keys and values: the layer's own rows, the encoder states that the caller passes (cross attention),
// or the encoder states if the caller passes them and the layer's own rows otherwise.
enum class KeySource : uint8_t { own = 0, encoder_states, encoder_states_or_own };

constexpr int64_t element_bytes(ElementType type) {
  return type == ElementType::f32 ? 4 : type == ElementType::int8 ? 1 : 2;
}
const char* name_of(Activation);

}  // namespace LINFORMER_NAMESPACE
