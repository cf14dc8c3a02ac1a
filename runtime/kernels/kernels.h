// The table of compute kernels, one for each instruction set, chosen at run time.
//
// Every kernel runs blind: shapes and pointers were checked by the plan. Promise that the native backend
// builds on: each output element is accumulated over K in one fixed order, whatever M, N, the tile and the
// row's place in the batch; so a row's bits depend on that row alone.
#pragma once

#include <cstddef>
#include <cstdint>

#include "linformer/types.h"

namespace linformer {

inline constexpr int64_t panel_width = 16;
// Elements of a panel16 matrix B[K,N].
constexpr int64_t panel_elements(int64_t k, int64_t n) { return (n + 15) / 16 * 16 * ((k + 15) / 16 * 16); }

// C = activation(alpha * A B + row_bias + bias) + residual, or C += alpha * A B when `accumulate`
// (bias, activation and residual are then absent).
struct Epilogue {
  float alpha = 1.f;
  const float* bias = nullptr;      // [N], one for each column
  const float* row_bias = nullptr;  // [M], one for each row
  Activation activation = Activation::none;
  const float* residual = nullptr;  // [M, N], may be C itself
  int64_t residual_stride = 0;      // elements
  bool accumulate = false;
};

// C[M,N] = epilogue(A[M,K] B[K,N]); A and C f32 row-major with strides in elements; B panel16 of `b_type`.
struct GemmPanel {
  int64_t m, n, k;
  const float* a;
  int64_t a_stride;
  const void* b;       // 64-byte aligned panels
  ElementType b_type;  // f32, bf16 or f16: widened to f32 in registers
  float* c;
  int64_t c_stride;
  Epilogue epilogue;
};

struct Kernels {
  Isa isa;
  void (*gemm_panel)(const GemmPanel&);
  // Row-major f32 src (K x N; or N x K when `transposed`: B = src^T) -> f32 panel16 of [K, N] with zeroed padding.
  void (*pack_panel)(const float* src, int64_t src_stride, bool transposed, int64_t k, int64_t n, float* dst);
  // In place: softmax(scale * x) over each row's first `cols`.
  void (*softmax_rows)(float* x, int64_t stride, int64_t rows, int64_t cols, float scale);
  // One step of a softmax over columns that come in blocks (Milakov and Gimelshein 2018, online normalizer). For each
  // row: m = max(highest, scale * x); x = exp(scale * x - m); factor = exp(highest - m); sum = sum * factor + what x
  // now adds up to; highest = m. Begin with highest = -inf and sum = 0; what was made of earlier blocks is to be
  // multiplied by the factor, and all divided by the sum at the end. scale > 0; a masked x is -1e30, not -inf.
  void (*softmax_step)(float* x, int64_t stride, int64_t rows, int64_t cols, float scale, float* highest, float* sums,
                       float* factors);
  // x[r, :] *= factors[r].
  void (*scale_rows)(float* x, int64_t stride, int64_t rows, int64_t cols, const float* factors);
  // y = (x - mean) / sqrt(var + eps) * scale + bias, for each row. y may be x.
  void (*layer_norm_rows)(const float* x, int64_t x_stride, const float* scale, const float* bias, float epsilon,
                          int64_t rows, int64_t cols, float* y, int64_t y_stride);
  void (*activate)(Activation activation, float* x, int64_t count);  // in place
  // dst = dst + src elementwise; dst = src widened to f32.
  void (*add)(float* dst, const float* src, int64_t count);
  void (*widen)(ElementType type, const void* src, float* dst, int64_t count);
};

// The table of `isa`, or nullptr when this build or machine lacks it. `automatic` = LINFORMER_ISA if set to a
// name that this machine has, else the best. Never nullptr for automatic and scalar.
const Kernels* kernels_for(Isa isa);

}  // namespace linformer
