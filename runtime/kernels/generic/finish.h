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
  ColumnSums() = default;
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

// What an epilogue does to one vector of a tile.
template <class L, ElementType left>
struct Finish {
  using B = typename L::Batch;
  using I = IntegersOf<B>;

  // What int8 columns of B have, padded to whole panels. `at`: the first, in the tile.
  struct Columns {
    ColumnSums<L> sums;
    B scale;
    LINFORMER_INLINE void load(const GemmArgs& gemm, const TileSums& tile, int64_t at) {
      if constexpr (left != ElementType::int8) return;
      const int64_t col = tile.col + at;
      sums = ColumnSums<L>(I::load_unaligned(gemm.b.sums + tile.slice * gemm.b.sums_ld + col));
      scale = B::load_unaligned(gemm.b.scales + col);
    }
  };

  // `at`: of the sums, in the tile.
  static LINFORMER_INLINE B scaled(const TileSums& tile, int64_t at, [[maybe_unused]] int64_t row,
                                   const Columns& columns, B addend, [[maybe_unused]] bool first) {
    if constexpr (left == ElementType::int8) {
      const B sum = fold_sums<L>(tile, at, tile.factors[row], columns.sums, first);
      return L::fma(sum, columns.scale, addend);
    } else {
      return load_sums<B>(tile.sums + at) + addend;
    }
  }
  template <ElementType out>
  static LINFORMER_INLINE void store(void* c, int64_t at, int64_t count, B x) {
    if constexpr (out == ElementType::f32) {
      store_lanes<L>(static_cast<float*>(c) + at, count, x);
    } else {
      L::store_bf16(static_cast<uint16_t*>(c) + at, count, x);
    }
  }
};

// Of the tile's first column; null: there are none.
LINFORMER_INLINE const float* biases_of(const GemmArgs& gemm, const TileSums& tile) {
  return gemm.epilogue.bias == nullptr ? nullptr : gemm.epilogue.bias + tile.col;
}

// What is added at the end: the residual, or of int8 C itself. Other sums began with it.
template <ElementType left>
struct Addition {
  const float* from = nullptr;  // of the tile's first element; null: nothing
  int64_t ld = 0;
  LINFORMER_INLINE Addition(const GemmArgs& gemm, const TileSums& tile) {
    const ConstMatrix& residual = gemm.epilogue.residual;
    if (residual.data != nullptr) {
      from = residual.row(tile.row) + tile.col;
      ld = residual.ld;
    } else if (left == ElementType::int8 && gemm.epilogue.accumulate) {
      from = static_cast<const float*>(gemm.c.data) + tile.row * gemm.c.ld + tile.col;
      ld = gemm.c.ld;
    }
  }
};

// C from a tile's finished sums, whatever its epilogue and its columns. Columns outside, rows inside: what belongs to a
// column is read once.
template <class L, ElementType left, ElementType out>
[[gnu::noinline]] void finish_any(const GemmArgs& gemm, const TileSums& tile) {
  using B = typename L::Batch;
  using F = Finish<L, left>;
  const Addition<left> addition(gemm, tile);
  const Activation activation = gemm.epilogue.activation;
  const float* const row_bias = gemm.epilogue.row_bias;
  const float* const biases = biases_of(gemm, tile);
  for_each_batch<L>(tile.cols, [&](int64_t j, int64_t count) {
    typename F::Columns columns;
    columns.load(gemm, tile, j);
    const B bias = biases == nullptr ? B(0.f) : load_lanes<L>(biases + j, count, B(0.f));
    for (int64_t i = 0; i < tile.rows; ++i) {
      const B addend = row_bias == nullptr ? bias : B(row_bias[tile.row + i]) + bias;
      B x = F::scaled(tile, i * slab_width + j, i, columns, addend, tile.slice == 0);
      if (activation != Activation::none) x = activated_any<L, left != ElementType::f32>(activation, x);
      if (addition.from != nullptr) x += load_lanes<L>(addition.from + i * addition.ld + j, count, B(0.f));
      F::template store<out>(gemm.c.data, (tile.row + i) * gemm.c.ld + tile.col + j, count, x);
    }
  });
}

// The same of tiles as nearly all are: `vectors` whole vectors, no row bias, no seldom activation. Row after row, so
// that a row's instructions that aren't arithmetic serve all of its vectors, and so that a caller can do other work
// between two rows: half as many instructions as above. `one_slice`: K has no more than one.
template <class L, ElementType left, ElementType out, bool gelu, int vectors, bool one_slice = false>
class WholeRows {
  using B = typename L::Batch;
  using F = Finish<L, left>;

 public:
  LINFORMER_INLINE void begin(const GemmArgs& gemm, const TileSums& tile) {
    tile_ = tile;
    LINFORMER_UNROLL for (int v = 0; v < vectors; ++v) {
      columns_[v].load(gemm, tile, v * L::width);
      bias_[v] = B(0.f);
    }
    if (const float* const biases = biases_of(gemm, tile); biases != nullptr) {
      LINFORMER_UNROLL for (int v = 0; v < vectors; ++v) bias_[v] = B::load_unaligned(biases + v * L::width);
    }
    const Addition<left> addition(gemm, tile);
    added_ = addition.from;
    added_ld_ = addition.ld;
    c_ = gemm.c.data;
    ld_ = gemm.c.ld;
    to_ = tile.row * ld_ + tile.col;
  }
  // The next row of C.
  LINFORMER_INLINE void finish() {
    B x[vectors];
    LINFORMER_UNROLL for (int v = 0; v < vectors; ++v) {
      x[v] = F::scaled(tile_, v * L::width, 0, columns_[v], bias_[v], one_slice || tile_.slice == 0);
    }
    if constexpr (gelu) {
      LINFORMER_UNROLL for (int v = 0; v < vectors; ++v) x[v] = gelu_of<L, left != ElementType::f32>(x[v]);
    }
    if (added_ != nullptr) {
      LINFORMER_UNROLL for (int v = 0; v < vectors; ++v) x[v] += B::load_unaligned(added_ + v * L::width);
      added_ += added_ld_;
    }
    LINFORMER_UNROLL for (int v = 0; v < vectors; ++v) {
      F::template store<out>(c_, to_ + v * L::width, L::width, x[v]);
    }
    to_ += ld_;
    tile_.sums += slab_width;
    if constexpr (left == ElementType::int8) {
      ++tile_.factors;
      if constexpr (!one_slice) tile_.folded += slab_width;
    }
  }

 private:
  TileSums tile_;  // from the next row on
  typename F::Columns columns_[vectors];
  B bias_[vectors];
  const float* added_ = nullptr;
  int64_t added_ld_ = 0, ld_ = 0, to_ = 0;
  void* c_ = nullptr;
};

template <class L, ElementType left, ElementType out, bool gelu, int vectors>
[[gnu::noinline]] void finish_whole(const GemmArgs& gemm, const TileSums& tile) {
  WholeRows<L, left, out, gelu, vectors> rows;
  rows.begin(gemm, tile);
  LINFORMER_ROLL for (int64_t i = tile.rows; i > 0; --i) rows.finish();
}

template <class L, ElementType left, ElementType out, int panels>
LINFORMER_INLINE void finish_as(const GemmArgs& gemm, const TileSums& tile) {
  constexpr int vectors = panels * panel_width / L::width;
  const Activation activation = gemm.epilogue.activation;
  if (tile.cols == panels * panel_width && gemm.epilogue.row_bias == nullptr) {
    if (activation == Activation::none) return finish_whole<L, left, out, false, vectors>(gemm, tile);
    if (activation == Activation::gelu) return finish_whole<L, left, out, true, vectors>(gemm, tile);
  }
  finish_any<L, left, out>(gemm, tile);
}

// `panels`: that most tiles have.
template <class L, ElementType left, int panels>
LINFORMER_INLINE void finish_tile(const GemmArgs& gemm, const TileSums& tile) {
  if constexpr (left == ElementType::bf16) {
    if (gemm.c.type == ElementType::bf16) return finish_as<L, left, ElementType::bf16, panels>(gemm, tile);
  }
  finish_as<L, left, ElementType::f32, panels>(gemm, tile);
}

}  // namespace
}  // namespace LINFORMER_NAMESPACE
