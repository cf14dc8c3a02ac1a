// From the sums of a product to C: scales of int8, biases, activation, residual.
#pragma once

#include "kernels/generic/rows.h"
#include "kernels/generic/sums.h"

namespace linformer {
namespace {

template <class Sum>
LINFORMER_INLINE Sum load_sums(const PartialSum* p) {
  return Sum::load_unaligned(reinterpret_cast<const typename Sum::value_type*>(p));
}
template <class Sum>
LINFORMER_INLINE void store_sums(PartialSum* p, const Sum& x) {
  x.store_unaligned(reinterpret_cast<typename Sum::value_type*>(p));
}

// Sums of int8 in one slice of K, without what the zero of their row of A adds; `of_zero`: the sums of B's columns.
template <class L>
LINFORMER_INLINE typename L::Batch exact_sums(const PartialSum* sums, const RowScale& scale,
                                              IntegersOf<typename L::Batch> of_zero) {
  using I = IntegersOf<typename L::Batch>;
  return xsimd::to_float(load_sums<I>(sums) - I(scale.zero - L::code_shift) * of_zero);
}

// One of several slices of a tile: folded (+)= its sums.
template <class L>
void fold_slice(const GemmArgs& gemm, const PartialSum* partial, float* folded, int64_t row, int64_t rows, int64_t col,
                int64_t cols, int64_t slice) {
  using B = typename L::Batch;
  using I = IntegersOf<B>;
  const int64_t scales_ld = gemm.a.scales_ld;
  const RowScale* const scales = gemm.a.scales + row * scales_ld + slice;
  for (int64_t j = 0; j < cols; j += L::width) {
    const I of_zero = I::load_unaligned(gemm.b.sums + slice * gemm.b.sums_ld + col + j);
    for (int64_t i = 0; i < rows; ++i) {
      const RowScale scale = scales[i * scales_ld];
      float* const to = folded + i * slab_width + j;
      const B exact = exact_sums<L>(partial + i * slab_width + j, scale, of_zero);
      const B sum = slice == 0 ? exact * B(scale.scale) : L::fma(exact, B(scale.scale), B::load_unaligned(to));
      sum.store_unaligned(to);
    }
  }
}

// Rows [row, row + rows) by columns [col, col + cols) of C from their finished sums. Columns outside, rows inside: what
// belongs to a column is read once.
template <class L, ElementType left, SumKind kind, Activation activation, ElementType out>
void finish_rows(const GemmArgs& gemm, const PartialSum* partial, int64_t row, int64_t rows, int64_t col,
                 int64_t cols) {
  using B = typename L::Batch;
  using I = IntegersOf<B>;
  using Out = std::conditional_t<out == ElementType::f32, float, uint16_t>;
  // Copies that stay in registers: C may alias what the caller passed.
  const Epilogue epilogue = gemm.epilogue;
  const bool accumulates = epilogue.accumulate;
  const int64_t residual_ld = epilogue.residual.ld, out_ld = gemm.c.ld, scales_ld = gemm.a.scales_ld;
  const float* const residual = epilogue.residual.data == nullptr ? nullptr : epilogue.residual.row(row) + col;
  const float* const row_bias = epilogue.row_bias == nullptr ? nullptr : epilogue.row_bias + row;
  const RowScale* const row_scales = kind == SumKind::int8 ? gemm.a.scales + row * scales_ld : nullptr;
  Out* const c = static_cast<Out*>(gemm.c.data) + row * out_ld + col;
  for_each_batch<L>(cols, [&](int64_t j, int64_t count) {
    // Scales and sums of B are padded to whole panels.
    B column_scale(1.f), bias(0.f);
    I of_zero(0);
    if constexpr (kind != SumKind::floats) column_scale = B::load_unaligned(gemm.b.scales + col + j);
    if constexpr (kind == SumKind::int8) of_zero = I::load_unaligned(gemm.b.sums + col + j);
    if (epilogue.bias != nullptr) bias = load_lanes<L>(epilogue.bias + col + j, count, B(0.f));
    for (int64_t i = 0; i < rows; ++i) {
      B sum(0.f);
      if constexpr (kind == SumKind::int8) {
        const RowScale scale = row_scales[i * scales_ld];
        sum = exact_sums<L>(partial + i * slab_width + j, scale, of_zero) * B(scale.scale);
      } else {
        sum = load_sums<B>(partial + i * slab_width + j);
      }
      if constexpr (kind != SumKind::floats) sum *= column_scale;
      Out* const to = c + i * out_ld + j;
      if constexpr (out == ElementType::f32) {
        if (accumulates) {
          store_lanes<L>(to, count, sum + load_lanes<L>(to, count, B(0.f)));
          continue;
        }
      }
      B x = sum + B(row_bias == nullptr ? 0.f : row_bias[i]);
      x = activated<L, activation, left != ElementType::f32>(x + bias);
      if (residual != nullptr) x += load_lanes<L>(residual + i * residual_ld + j, count, B(0.f));
      if constexpr (out == ElementType::f32) {
        store_lanes<L>(to, count, x);
      } else {
        L::store_bf16(to, count, x);
      }
    }
  });
}

template <class L, ElementType left, SumKind kind>
void finish_tile(const GemmArgs& gemm, const PartialSum* partial, int64_t row, int64_t rows, int64_t col,
                 int64_t cols) {
  with_activation(gemm.epilogue.activation, [&]<Activation activation>() {
    if constexpr (left == ElementType::bf16) {
      if (gemm.c.type == ElementType::bf16) {
        return finish_rows<L, left, kind, activation, ElementType::bf16>(gemm, partial, row, rows, col, cols);
      }
    }
    finish_rows<L, left, kind, activation, ElementType::f32>(gemm, partial, row, rows, col, cols);
  });
}

}  // namespace
}  // namespace linformer
