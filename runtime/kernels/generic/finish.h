// From the sums of a product to C: scales of int8, biases, activation, residual.
#pragma once

#include "kernels/generic/rows.h"
#include "kernels/generic/sums.h"
#include "linformer/version.h"

namespace LINFORMER_NAMESPACE {
namespace {

inline constexpr int64_t cache_line = 64;  // bytes

// Where a tile will write: C of many rows is no longer in a near cache then, and the writes would wait for it.
LINFORMER_INLINE void prefetch_out(const OutMatrix& c, int64_t row, int64_t rows, int64_t col, int64_t cols) {
  const int64_t element = element_bytes(c.type);
  const char* line = static_cast<const char*>(c.data) + (row * c.ld + col) * element;
  for (int64_t i = 0; i < rows; ++i, line += c.ld * element) {
    for (int64_t byte = 0; byte < cols * element; byte += cache_line) __builtin_prefetch(line + byte, 1, 3);
  }
}

template <class Sum>
LINFORMER_INLINE Sum load_sums(const PartialSum* p) {
  return Sum::load_unaligned(reinterpret_cast<const typename Sum::value_type*>(p));
}
template <class Sum>
LINFORMER_INLINE void store_sums(PartialSum* p, const Sum& x) {
  x.store_unaligned(reinterpret_cast<typename Sum::value_type*>(p));
}

// The sums of B's columns in one slice of K, which a row's zero is multiplied by.
template <class L>
struct ColumnSums {
  using I = IntegersOf<typename L::Batch>;
  I exact;
  typename L::Batch negative;
  explicit LINFORMER_INLINE ColumnSums(I sums) : exact(sums), negative(xsimd::to_float(I(0) - sums)) {}
};

// Sums of int8 in one slice of K, without what the zero of their row of A adds. A sum has at most 25 bits, and the
// column's 17: in f32 little is lost, and integers would take thrice as long to multiply.
template <class L>
LINFORMER_INLINE typename L::Batch sums_of_slice(const PartialSum* sums, const RowFactors& row,
                                                 const ColumnSums<L>& columns) {
  using B = typename L::Batch;
  using I = IntegersOf<B>;
  I sum = load_sums<I>(sums);
  if constexpr (L::code_shift != 0) sum += I(L::code_shift) * columns.exact;
  return L::fma(B(row.zero), columns.negative, xsimd::to_float(sum));
}

// A row's sums of one slice, scaled, and what the slices before it gave.
template <class L>
LINFORMER_INLINE typename L::Batch fold_sums(const TileSums& tile, int64_t at, const RowFactors& row,
                                             const ColumnSums<L>& columns, bool first) {
  using B = typename L::Batch;
  const B of_slice = sums_of_slice<L>(tile.sums + at, row, columns);
  if (first) return of_slice * B(row.scale);
  return L::fma(of_slice, B(row.scale), B::load_unaligned(tile.folded + at));
}

// A slice of a tile that more follow.
template <class L>
void fold_slice(const GemmArgs& gemm, const TileSums& sums) {
  const TileSums tile = sums;  // in registers
  const int32_t* const column_sums = gemm.b.sums + tile.slice * gemm.b.sums_ld + tile.col;
  for (int64_t j = 0; j < tile.cols; j += L::width) {
    const ColumnSums<L> columns(IntegersOf<typename L::Batch>::load_unaligned(column_sums + j));
    for (int64_t i = 0; i < tile.rows; ++i) {
      const int64_t at = i * slab_width + j;
      fold_sums<L>(tile, at, tile.factors[i], columns, tile.slice == 0).store_unaligned(tile.folded + at);
    }
  }
}

// C from a tile's finished sums. Columns outside, rows inside: what belongs to a column is read once.
// `first`: nothing was folded before.
template <class L, ElementType left, bool first, Applied applied, ElementType out>
LINFORMER_INLINE void finish_rows(const GemmArgs& gemm, const TileSums& sums) {
  using B = typename L::Batch;
  using I = IntegersOf<B>;
  using Out = std::conditional_t<out == ElementType::f32, float, uint16_t>;
  // Copies that stay in registers: C may alias what the caller passed.
  const Epilogue epilogue = gemm.epilogue;
  const TileSums tile = sums;
  const int64_t row = tile.row, rows = tile.rows, col = tile.col;
  const bool accumulates = epilogue.accumulate;
  const int64_t residual_ld = epilogue.residual.ld, out_ld = gemm.c.ld;
  const float* const residual = epilogue.residual.data == nullptr ? nullptr : epilogue.residual.row(row) + col;
  const float* const row_bias = epilogue.row_bias == nullptr ? nullptr : epilogue.row_bias + row;
  const bool has_sums = left == ElementType::int8;
  [[maybe_unused]] const int32_t* const of_slice = has_sums ? gemm.b.sums + tile.slice * gemm.b.sums_ld + col : nullptr;
  Out* const c = static_cast<Out*>(gemm.c.data) + row * out_ld + col;
  for_each_batch<L>(tile.cols, [&](int64_t j, int64_t count) {
    // Scales and sums of B are padded to whole panels.
    B column_scale(1.f), bias(0.f);
    I column_sums(0);
    if constexpr (left == ElementType::int8) {
      column_scale = B::load_unaligned(gemm.b.scales + col + j);
      column_sums = I::load_unaligned(of_slice + j);
    }
    const ColumnSums<L> columns(column_sums);
    const auto scaled = [&](B sum, B addend) __attribute__((always_inline)) {
      if constexpr (left != ElementType::int8) return sum + addend;
      return L::fma(sum, column_scale, addend);
    };
    if (epilogue.bias != nullptr) bias = load_lanes<L>(epilogue.bias + col + j, count, B(0.f));
    for (int64_t i = 0; i < rows; ++i) {
      B sum(0.f);
      if constexpr (left == ElementType::int8) {
        sum = fold_sums<L>(tile, i * slab_width + j, tile.factors[i], columns, first);
      } else {
        sum = load_sums<B>(tile.sums + i * slab_width + j);
      }
      Out* const to = c + i * out_ld + j;
      if constexpr (out == ElementType::f32) {
        if (accumulates) {
          store_lanes<L>(to, count, scaled(sum, load_lanes<L>(to, count, B(0.f))));
          continue;
        }
      }
      const B addend = row_bias == nullptr ? bias : B(row_bias[i]) + bias;
      B x = activated<L, applied, left != ElementType::f32>(epilogue.activation, scaled(sum, addend));
      if (residual != nullptr) x += load_lanes<L>(residual + i * residual_ld + j, count, B(0.f));
      if constexpr (out == ElementType::f32) {
        store_lanes<L>(to, count, x);
      } else {
        L::store_bf16(to, count, x);
      }
    }
  });
}

// In line: what a tile says stays in registers, worth a sixth where K is short.
template <class L, ElementType left>
LINFORMER_INLINE void finish_tile(const GemmArgs& gemm, const TileSums& tile) {
  constexpr ElementType f32 = ElementType::f32, bf16 = ElementType::bf16;
  with_activation(gemm.epilogue.activation, [&]<Applied applied>() {
    if constexpr (left == ElementType::int8) {
      if (tile.slice > 0) return finish_rows<L, left, false, applied, f32>(gemm, tile);
    }
    if constexpr (left == bf16) {
      if (gemm.c.type == bf16) return finish_rows<L, left, true, applied, bf16>(gemm, tile);
    }
    finish_rows<L, left, true, applied, f32>(gemm, tile);
  });
}

}  // namespace
}  // namespace LINFORMER_NAMESPACE
