// The table of compute kernels, one for each instruction set, chosen at run time.
//
// No kernel checks anything: shapes and pointers were checked by the plan. Promise that the native GEMM provider builds
// on: each output element is accumulated in one contraction order, whatever M, N, the tile and the row's place in the
// batch; so a row's bits depend on that row alone.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/matrix.h"
#include "base/types.h"
#include "kernels/bf16_choice.h"
#include "linformer/version.h"

namespace LINFORMER_NAMESPACE {

// C = activation(A B + row_bias + bias) + residual, or C += A B when `accumulate` (the rest is then absent; C is f32):
// an element's sum then begins with what C holds, but for int8, where that is added to the scaled sum.
struct Epilogue {
  const float* bias = nullptr;      // [N], one for each column
  const float* row_bias = nullptr;  // [M], one for each row
  Activation activation = Activation::none;
  ConstMatrix residual;  // [M, N], may be C itself; data null: none
  bool accumulate = false;
};

// C[M, N] = epilogue(A[M, K] B[K, N]).
struct GemmArgs {
  LeftMatrix a;
  RightMatrix b;
  OutMatrix c;
  Epilogue epilogue;
  const void* next_weights = nullptr;  // panels that the caller will multiply with next, to be prefetched; may be null
};

struct NormWeights {
  const float* scale;  // [columns]
  const float* bias;   // [columns]; may be null
  float epsilon;
  NormKind kind = NormKind::layer;
};

// State of an online softmax, one entry for each row.
struct OnlineSoftmax {
  float* row_max;  // of what was seen so far, in units of the step's own; before the first step -inf
  float* row_sum;  // of exp(scale * x - row_max); before the first step 0
  float* rescale;  // written by each step: what results of earlier steps are to be multiplied by
};

// Rows of f32 as u8, with a scale for each row and slice.
struct QuantizedRows {
  uint8_t* data = nullptr;
  int64_t ld = 0;  // a multiple of 4; what lies between the last column and the next multiple of 64 becomes zero
  RowScale* scales = nullptr;
  int64_t scales_ld = 0;
};

struct Kernels {
  Isa isa = Isa::scalar;
  // Rows that a thread should take through a layer at once: so often a weight is used that was read once.
  int64_t block_rows = 128;
  // B is panel16. A and C f32; B of any type, widened to f32 a block at a time.
  void (*gemm_f32)(const GemmArgs&) = nullptr;
  // A and B bf16, C f32 or bf16: for each pair of k the product of the second is added first, then that of the first,
  // each rounded to f32 (what vdpbf16ps does; subnormal operands and sums are zero). NEON's BFDOT adds both products
  // first and rounds to odd; AMX adds up 16 pairs, even and odd k apart, and then both. Null where the machine has no
  // instruction for it, but in the scalar table.
  void (*gemm_bf16)(const GemmArgs&) = nullptr;
  // A u8, B int8, C f32: sums of a slice of K are exact, in s32; slices are added in order.
  void (*gemm_int8)(const GemmArgs&) = nullptr;
  // Whether gemm_bf16 is faster than gemm_f32 on this processor. It may be there and slower.
  Bf16Choice bf16 = {};
  // dst = src rounded to the nearest bf16, ties to even, subnormals to zero; zeros up to the next multiple of 32
  // columns.
  void (*round_rows)(ConstMatrix src, Matrix<uint16_t> dst) = nullptr;
  // u = round(x / scale) + zero, for each slice of a row: the scale covers its range and zero. A slice of zeros has
  // scale 0, one with an element that is not finite the scale NaN.
  void (*quantize_rows)(ConstMatrix src, const QuantizedRows& dst) = nullptr;
  // f32 panel16 of B[K, N] with zeroed padding. `src` as it lies in memory: K x N, or N x K when `transposed`
  // (B = src^T).
  void (*pack_panel)(ConstMatrix src, bool transposed, float* dst) = nullptr;
  // The same in bf16, each element rounded; null where gemm_bf16 is.
  void (*pack_panel_bf16)(ConstMatrix src, bool transposed, uint16_t* dst) = nullptr;
  // Rows [0, k) of panel `panel` of `b`, from row `first` on, as f32: k x 16. `first` is a multiple of 4; up to 3 rows
  // more are written.
  void (*widen_panel)(const RightMatrix& b, int64_t panel, int64_t first, int64_t k, float* dst) = nullptr;
  // In place: softmax(scale * x) of each row.
  void (*softmax_rows)(MutableMatrix x, float scale) = nullptr;
  // One step of a softmax over columns that come in blocks (Milakov and Gimelshein 2018, online normalizer). For each
  // row: m = max(row_max, scale * x); x = exp(scale * x - m); rescale = exp(row_max - m);
  // row_sum = row_sum * rescale + what x now adds up to; row_max = m. At the end all is to be divided by row_sum.
  // scale > 0; a masked x is -1e30, not -inf.
  void (*softmax_step)(MutableMatrix x, float scale, const OnlineSoftmax& state) = nullptr;
  // The same, but each row of x becomes bf16 at its own place, zeros up to the next multiple of 32 columns; x.ld is a
  // multiple of 16. Null where gemm_bf16 is.
  void (*softmax_step_bf16)(MutableMatrix x, float scale, const OnlineSoftmax& state) = nullptr;
  // x[r, :] *= factors[r].
  void (*scale_rows)(MutableMatrix x, const float* factors) = nullptr;
  // Normalises each row of x. NormKind::layer: y = (x - mean) / sqrt(variance + epsilon) * scale + bias.
  // NormKind::rms: y = x / sqrt(mean of x^2 + epsilon) * scale + bias. y may be x.
  void (*norm_rows)(ConstMatrix x, const NormWeights& weights, MutableMatrix y) = nullptr;
  // Rotary positions: in row r of x, each pair of channels (a, b) = (j, j + d / 2) of each d = table.cols channels
  // becomes (a cos - b sin, b cos + a sin). Row r of the table has d / 2 cosines, then d / 2 sines.
  void (*rotate_rows)(MutableMatrix x, ConstMatrix table) = nullptr;
  void (*activate)(Activation activation, MutableMatrix x) = nullptr;  // in place
  // dst = dst + src; dst = dst * src; dst = src widened to f32 (int8: its codes); elementwise.
  void (*add)(float* dst, const float* src, int64_t count) = nullptr;
  void (*multiply)(float* dst, const float* src, int64_t count) = nullptr;
  void (*widen)(ElementType type, const void* src, float* dst, int64_t count) = nullptr;
};

// The table of `isa`; nullptr where this build or machine lacks it, whoever asks. `automatic` asks for the set that
// LINFORMER_ISA names (an unknown name is a set that no machine has), or where it is unset for the best there is.
// Nothing else reads the environment.
const Kernels* kernels_for(Isa isa);

}  // namespace LINFORMER_NAMESPACE
