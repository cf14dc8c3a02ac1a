// The table of compute kernels. There is one table for each instruction set, and it is chosen at run time.
//
// Kernels check nothing, because the plan has checked shapes and pointers. Each element of a product is accumulated in
// one order of K, whatever M, N, the tile and the row's place in the batch are, so the bits of a row depend on that row
// alone. The native GEMM provider relies on this.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/matrix.h"
#include "base/types.h"
#include "kernels/bf16_choice.h"
#include "linformer/version.h"

namespace LINFORMER_NAMESPACE {

// The steps that follow the sums of a product: C = activation(A B + row_bias + bias) + residual. If `accumulate`, A B
// is added to C instead, the other members are unset and C is f32. The sum of an element then begins with the value in
// C, except in int8, where that value is added to the scaled sum.
struct Epilogue {
  const float* bias = nullptr;      // [N], one for each column. May be null.
  const float* row_bias = nullptr;  // [M], one for each row. May be null.
  Activation activation = Activation::none;
  ConstMatrix residual;  // [M, N]. It may be C itself. If its data is null, there is no residual.
  bool accumulate = false;
};

// C[M, N] = epilogue(A[M, K] B[K, N]).
struct GemmArgs {
  LeftMatrix a;
  RightMatrix b;
  OutMatrix c;
  Epilogue epilogue;
  // The panels that the caller will multiply by next, which the kernel may prefetch. May be null.
  const void* next_weights = nullptr;
};

struct NormWeights {
  const float* scale;  // [columns]
  const float* bias;   // [columns]. May be null.
  float epsilon;
  NormKind kind = NormKind::layer;
};

// The state of an online softmax, with one entry for each row.
struct OnlineSoftmax {
  float* row_max;  // The maximum so far, in a unit that depends on the step function. Before the first step it is -inf.
  float* row_sum;  // The sum of exp(scale * x - row_max) so far. Before the first step it is 0.
  float* rescale;  // Written by each step: the factor that results of earlier steps must be multiplied by.
};

// Rows of f32 that are quantised to u8, with a scale for each row and slice.
struct QuantizedRows {
  uint8_t* data = nullptr;
  int64_t ld = 0;  // A multiple of 4. Bytes after the last column become zero up to the next multiple of 64.
  RowScale* scales = nullptr;
  int64_t scales_ld = 0;
};

// The kernels of an instruction set.
struct Kernels {
  Isa isa = Isa::scalar;
  // The rows that a thread should take through a layer at once. Each weight that is read is used for this many rows.
  int64_t block_rows = 128;
  // Multiplies A in f32 by B of any type and writes C in f32. B is widened a block at a time if it isn't f32. In all
  // three products B must be panel16.
  void (*gemm_f32)(const GemmArgs&) = nullptr;
  // Multiplies A and B in bf16 and writes C in f32 or bf16. For each pair of k, the product of the second k is added
  // first and then that of the first k, each rounded to f32, as vdpbf16ps does. Subnormal operands and sums are zero.
  // Two instruction sets differ: NEON's BFDOT adds both products to each other first and rounds to odd, and AMX adds up
  // 16 pairs, even and odd k separately, and then adds the two sums. The scalar table always has this kernel. Other
  // tables have it if the set has an instruction for it that the build and the machine have, and otherwise it is null.
  void (*gemm_bf16)(const GemmArgs&) = nullptr;
  // Multiplies A in u8 by B in int8 and writes C in f32. The sums of a slice of K are exact, in s32. They are scaled
  // and added slice by slice, in order.
  void (*gemm_int8)(const GemmArgs&) = nullptr;
  // Whether gemm_bf16 is faster than gemm_f32 on this processor. A kernel that exists may be slower.
  Bf16Choice bf16 = {};
  // Rounds src to the nearest bf16, ties to even and subnormals to zero. Writes zeros after the last column, up to the
  // next multiple of 32 columns. Null if gemm_bf16 is null.
  void (*round_rows)(ConstMatrix src, Matrix<uint16_t> dst) = nullptr;
  // Quantises each slice of a row: u = round(x / scale) + zero. The codes 0 to 255 cover the smallest range that
  // contains the slice and the number 0. A slice of zeros or of numbers up to about 1e-35 has the scale 0. A slice with
  // an element that is not finite has the scale NaN.
  void (*quantize_rows)(ConstMatrix src, const QuantizedRows& dst) = nullptr;
  // Packs B[K, N] into f32 panel16 and sets the padding to zero. `src` is B, or B^T if `transposed`.
  void (*pack_panel)(ConstMatrix src, bool transposed, float* dst) = nullptr;
  // Packs B into bf16 panel16 and rounds each element. Null if gemm_bf16 is null.
  void (*pack_panel_bf16)(ConstMatrix src, bool transposed, uint16_t* dst) = nullptr;
  // Widens rows [first, first + k) of a panel of `b` to f32 and writes k rows of 16. int8 codes are multiplied by the
  // scales of their columns. `first` must be a multiple of 4. Up to 3 more rows are written.
  void (*widen_panel)(const RightMatrix& b, int64_t panel, int64_t first, int64_t k, float* dst) = nullptr;
  // Replaces each row of x by softmax(scale * x).
  void (*softmax_rows)(MutableMatrix x, float scale) = nullptr;
  // Computes one step of a softmax over columns that come in blocks (Milakov and Gimelshein 2018, online normalizer).
  // For each row: m = max(row_max, scale * x); x = exp(scale * x - m); rescale = exp(row_max - m); row_max = m. row_sum
  // is multiplied by rescale, and the sum of the new x is added to it. After the last step, results must be divided by
  // row_sum. scale must be positive, and a masked x must be -1e30 instead of -inf.
  void (*softmax_step)(MutableMatrix x, float scale, const OnlineSoftmax& state) = nullptr;
  // Computes the same step as softmax_step, but overwrites each row of x with bf16, followed by zeros up to the next
  // multiple of 32 columns. x.ld must be a multiple of 16. Null if gemm_bf16 is null.
  void (*softmax_step_bf16)(MutableMatrix x, float scale, const OnlineSoftmax& state) = nullptr;
  // Multiplies each row r of x by factors[r].
  void (*scale_rows)(MutableMatrix x, const float* factors) = nullptr;
  // Normalises each row of x. NormKind::layer: y = (x - mean) / sqrt(variance + epsilon) * scale + bias.
  // NormKind::rms: y = x / sqrt(mean of x^2 + epsilon) * scale + bias. y may be x.
  void (*norm_rows)(ConstMatrix x, const NormWeights& weights, MutableMatrix y) = nullptr;
  // Applies rotary positions in place. The columns of a row are taken in groups of d = table.cols, one for each head.
  // In row r, each pair (a, b) of columns j and j + d / 2 of a group becomes (a cos - b sin, b cos + a sin). Row r of
  // the table has d / 2 cosines, then d / 2 sines.
  void (*rotate_rows)(MutableMatrix x, ConstMatrix table) = nullptr;
  void (*activate)(Activation activation, MutableMatrix x) = nullptr;  // In place.
  // The next three functions work element by element: dst += src; dst *= src; dst = src, widened to f32. int8 codes are
  // not scaled.
  void (*add)(float* dst, const float* src, int64_t count) = nullptr;
  void (*multiply)(float* dst, const float* src, int64_t count) = nullptr;
  void (*widen)(ElementType type, const void* src, float* dst, int64_t count) = nullptr;
};

// Returns the table of `isa`, or nullptr if this build or this machine lacks it. `automatic` means the set that the
// environment variable LINFORMER_ISA names, or the best set if it is unset. An unknown name gives nullptr. The runtime
// reads no other environment variable.
const Kernels* kernels_for(Isa isa);

}  // namespace LINFORMER_NAMESPACE
