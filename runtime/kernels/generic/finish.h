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

// Sums of slice `slice` of K, times its scales of A: sums of int8 in one slice of K. Added to those of the slices
// before.
template <class L>
LINFORMER_INLINE typename L::Batch scaled_sums(const GemmArgs& gemm, const PartialSum* sums, int64_t row, int64_t col,
                                               int64_t slice, bool first, typename L::Batch before) {
  using B = typename L::Batch;
  using I = IntegersOf<B>;
  // Scales and sums of B are padded to whole panels.
  const RowScale& scale = gemm.a.scales[row * gemm.a.scales_ld + slice];
  const I of_zero = I::load_unaligned(gemm.b.sums + slice * gemm.b.sums_ld + col);
  const B exact = xsimd::to_float(load_sums<I>(sums) - I(scale.zero) * of_zero);
  return first ? exact * B(scale.scale) : L::fma(exact, B(scale.scale), before);
}

// One of several slices of a tile: folded (+)= its sums.
template <class L>
void fold_slice(const GemmArgs& gemm, const PartialSum* partial, float* folded, int64_t row, int64_t rows, int64_t col,
                int64_t cols, int64_t slice) {
  using B = typename L::Batch;
  for (int64_t i = 0; i < rows; ++i, partial += slab_width, folded += slab_width) {
    for (int64_t j = 0; j < cols; j += L::width) {
      const B before = B::load_unaligned(folded + j);
      scaled_sums<L>(gemm, partial + j, row + i, col + j, slice, slice == 0, before).store_unaligned(folded + j);
    }
  }
}

// Rows [row, row + rows) by columns [col, col + cols) of C from their finished sums.
template <class L, SumKind kind, Activation activation, ElementType out>
void finish_rows(const GemmArgs& gemm, const PartialSum* partial, int64_t row, int64_t rows, int64_t col,
                 int64_t cols) {
  using B = typename L::Batch;
  const Epilogue& epilogue = gemm.epilogue;
  for (int64_t i = 0; i < rows; ++i, partial += slab_width) {
    const float* residual = epilogue.residual.data == nullptr ? nullptr : epilogue.residual.row(row + i) + col;
    const B row_bias(epilogue.row_bias == nullptr ? 0.f : epilogue.row_bias[row + i]);
    for_each_batch<L>(cols, [&](int64_t j, int64_t count) {
      B sum(0.f);
      if constexpr (kind == SumKind::int8) {
        sum = scaled_sums<L>(gemm, partial + j, row + i, col + j, 0, true, sum);
      } else {
        sum = load_sums<B>(partial + j);
      }
      if constexpr (kind != SumKind::floats) sum *= B::load_unaligned(gemm.b.scales + col + j);
      if constexpr (out == ElementType::f32) {
        float* c = gemm.c.floats().row(row + i) + col + j;
        if (epilogue.accumulate) {
          store_lanes<L>(c, count, sum + load_lanes<L>(c, count, B(0.f)));
          return;
        }
      }
      B x = sum + row_bias;
      if (epilogue.bias != nullptr) x += load_lanes<L>(epilogue.bias + col + j, count, B(0.f));
      x = activated<L, activation>(x);
      if (residual != nullptr) x += load_lanes<L>(residual + j, count, B(0.f));
      if constexpr (out == ElementType::f32) {
        store_lanes<L>(gemm.c.floats().row(row + i) + col + j, count, x);
      } else {
        L::store_bf16(gemm.c.halves().row(row + i) + col + j, count, x);
      }
    });
  }
}

template <class L, ElementType left, SumKind kind>
void finish_tile(const GemmArgs& gemm, const PartialSum* partial, int64_t row, int64_t rows, int64_t col,
                 int64_t cols) {
  with_activation(gemm.epilogue.activation, [&]<Activation activation>() {
    if constexpr (left == ElementType::bf16) {
      if (gemm.c.type == ElementType::bf16) {
        return finish_rows<L, kind, activation, ElementType::bf16>(gemm, partial, row, rows, col, cols);
      }
    }
    finish_rows<L, kind, activation, ElementType::f32>(gemm, partial, row, rows, col, cols);
  });
}

}  // namespace
}  // namespace linformer
