// The table of compute kernels, one for each instruction set, chosen at run time.
//
// No kernel checks anything: shapes and pointers were checked by the plan. Promise that the native GEMM provider builds
// on: each output element is accumulated in one contraction order, whatever M, N, the tile and the row's place in the
// batch; so a row's bits depend on that row alone.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/matrix.h"
#include "linformer/types.h"

namespace linformer {

// C = activation(A B + row_bias + bias) + residual, or C += A B when `accumulate` (the rest is then absent).
struct Epilogue {
  const float* bias = nullptr;      // [N], one for each column
  const float* row_bias = nullptr;  // [M], one for each row
  Activation activation = Activation::none;
  ConstMatrix residual;  // [M, N], may be C itself; data null: none
  bool accumulate = false;
};

// C[M, N] = epilogue(A[M, K] B[K, N]).
struct GemmArgs {
  ConstMatrix a;
  RightMatrix b;
  MutableMatrix c;
  Epilogue epilogue;
};

struct NormWeights {
  const float* scale;  // [columns]
  const float* bias;   // [columns]
  float epsilon;
};

// State of an online softmax, one entry for each row.
struct OnlineSoftmax {
  float* row_max;  // of what was seen so far; before the first step -inf
  float* row_sum;  // of exp(scale * x - row_max); before the first step 0
  float* rescale;  // written by each step: what results of earlier steps are to be multiplied by
};

struct Kernels {
  Isa isa;
  // B is panel16: f32, or bf16 or f16, which are widened to f32 in registers.
  void (*gemm_panel)(const GemmArgs&);
  // f32 panel16 of B[K, N] with zeroed padding. `src` as it lies in memory: K x N, or N x K when `transposed`
  // (B = src^T).
  void (*pack_panel)(ConstMatrix src, bool transposed, float* dst);
  // In place: softmax(scale * x) of each row.
  void (*softmax_rows)(MutableMatrix x, float scale);
  // One step of a softmax over columns that come in blocks (Milakov and Gimelshein 2018, online normalizer). For each
  // row: m = max(row_max, scale * x); x = exp(scale * x - m); rescale = exp(row_max - m);
  // row_sum = row_sum * rescale + what x now adds up to; row_max = m. At the end all is to be divided by row_sum.
  // scale > 0; a masked x is -1e30, not -inf.
  void (*softmax_step)(MutableMatrix x, float scale, const OnlineSoftmax& state);
  // x[r, :] *= factors[r].
  void (*scale_rows)(MutableMatrix x, const float* factors);
  // y = (x - mean) / sqrt(var + epsilon) * scale + bias, for each row. y may be x.
  void (*layer_norm_rows)(ConstMatrix x, const NormWeights& weights, MutableMatrix y);
  void (*activate)(Activation activation, MutableMatrix x);  // in place
  // dst = dst + src; dst = dst * src; dst = src widened to f32; elementwise.
  void (*add)(float* dst, const float* src, int64_t count);
  void (*multiply)(float* dst, const float* src, int64_t count);
  void (*widen)(ElementType type, const void* src, float* dst, int64_t count);
};

// The table of `isa`; nullptr where this build or machine lacks it, whoever asks. `automatic` asks for the set that
// LINFORMER_ISA names (an unknown name is a set that no machine has), or where it is unset for the best there is.
// Nothing else reads the environment.
const Kernels* kernels_for(Isa isa);

}  // namespace linformer
