// From the sums of a product to C: scales of int8, biases, activation, residual.
#pragma once

#include "kernels/generic/rows.h"

namespace linformer {
namespace {

inline constexpr int64_t slab_panels = 3;
inline constexpr int64_t slab_width = slab_panels * panel_width;

// A sum that is not finished: a float, or the bits of an int32.
using PartialSum = float;

template <class Sum>
LINFORMER_INLINE Sum load_sums(const PartialSum* p) {
  return Sum::load_unaligned(reinterpret_cast<const typename Sum::value_type*>(p));
}
template <class Sum>
LINFORMER_INLINE void store_sums(PartialSum* p, const Sum& x) {
  x.store_unaligned(reinterpret_cast<typename Sum::value_type*>(p));
}

// Rows [row, row + rows) by columns [col, col + cols) of C from their finished sums.
template <class L, ElementType left, Activation activation, ElementType out>
void finish_rows(const GemmArgs& gemm, const PartialSum* partial, int64_t row, int64_t rows, int64_t col,
                 int64_t cols) {
  using B = typename L::Batch;
  using I = IntegersOf<B>;
  const Epilogue& epilogue = gemm.epilogue;
  for (int64_t i = 0; i < rows; ++i, partial += slab_width) {
    const float* residual = epilogue.residual.data == nullptr ? nullptr : epilogue.residual.row(row + i) + col;
    const B row_bias(epilogue.row_bias == nullptr ? 0.f : epilogue.row_bias[row + i]);
    RowScale scale;
    if constexpr (left == ElementType::int8) scale = gemm.a.scales[row + i];
    for_each_batch<L>(cols, [&](int64_t j, int64_t count) {
      B sum(0.f);
      if constexpr (left == ElementType::int8) {
        // Scales and sums are padded to whole panels.
        const I sums = load_sums<I>(partial + j) - I(scale.zero) * I::load_unaligned(gemm.b.sums + col + j);
        sum = xsimd::to_float(sums) * B(scale.scale) * B::load_unaligned(gemm.b.scales + col + j);
      } else {
        sum = load_sums<B>(partial + j);
      }
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

template <class L, ElementType left>
void finish_tile(const GemmArgs& gemm, const PartialSum* partial, int64_t row, int64_t rows, int64_t col,
                 int64_t cols) {
  with_activation(gemm.epilogue.activation, [&]<Activation activation>() {
    if constexpr (left == ElementType::bf16) {
      if (gemm.c.type == ElementType::bf16) {
        return finish_rows<L, left, activation, ElementType::bf16>(gemm, partial, row, rows, col, cols);
      }
    }
    finish_rows<L, left, activation, ElementType::f32>(gemm, partial, row, rows, col, cols);
  });
}

}  // namespace
}  // namespace linformer
