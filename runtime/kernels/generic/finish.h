// The epilogue of a product, which turns its sums into elements of C: int8 scales, biases, activation, residual.
#pragma once

#include "kernels/generic/rows.h"
#include "kernels/generic/sums.h"
#include "linformer/version.h"

namespace LINFORMER_NAMESPACE {
namespace {

inline constexpr int64_t cache_line = 64;  // In bytes.

// Prefetches the part of C that a tile will write. If C has many rows, this part is no longer in a near cache, and the
// stores would wait for it.
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

// For each column in a vector of B's columns: the sum of its elements in one slice of K. The epilogue multiplies these
// sums by the zero point of each row.
template <class L>
struct ColumnSums {
  using I = IntegersOf<typename L::Batch>;
  I exact;
  typename L::Batch negative;
  ColumnSums() = default;
  explicit LINFORMER_INLINE ColumnSums(I sums) : exact(sums), negative(xsimd::to_float(I(0) - sums)) {}
};

// Returns the int8 sums of one slice of K minus what the zero point of A's row has added to them. A sum has at most 25
// bits and the sum of a column 17, so f32 loses little. Integer multiplications would take three times as long.
template <class L>
LINFORMER_INLINE typename L::Batch sums_without_zero_point(const PartialSum* sums, const RowFactors& row,
                                                           const ColumnSums<L>& columns) {
  using B = typename L::Batch;
  using I = IntegersOf<B>;
  I sum = load_sums<I>(sums);
  if constexpr (L::code_shift != 0) sum += I(L::code_shift) * columns.exact;
  return L::fma(B(row.zero), columns.negative, xsimd::to_float(sum));
}

// Returns the sums of one slice times the scale of their row, plus the scaled sums of earlier slices unless the slice
// is the first. `at` is the index of the vector's first sum in the tile.
template <class L>
LINFORMER_INLINE typename L::Batch scaled_sums_so_far(const TileSums& tile, int64_t at, const RowFactors& row,
                                                      const ColumnSums<L>& columns, bool first) {
  using B = typename L::Batch;
  const B of_slice = sums_without_zero_point<L>(tile.sums + at, row, columns);
  if (first) return of_slice * B(row.scale);
  return L::fma(of_slice, B(row.scale), B::load_unaligned(tile.folded + at));
}

// Adds the sums of a slice of K, multiplied by the scales of the rows, to sums.folded. It is called for all slices but
// the last.
template <class L>
void add_scaled_slice(const GemmArgs& gemm, const TileSums& sums) {
  const TileSums tile = sums;  // A local copy, which stays in registers.
  const int32_t* const column_sums = gemm.b.sums + tile.slice * gemm.b.sums_ld + tile.col;
  for (int64_t j = 0; j < tile.cols; j += L::width) {
    const ColumnSums<L> columns(IntegersOf<typename L::Batch>::load_unaligned(column_sums + j));
    for (int64_t i = 0; i < tile.rows; ++i) {
      const int64_t at = i * slab_width + j;
      scaled_sums_so_far<L>(tile, at, tile.factors[i], columns, tile.slice == 0).store_unaligned(tile.folded + at);
    }
  }
}

// The steps of an epilogue for one vector of a tile.
template <class L, ElementType left>
struct Finish {
  using B = typename L::Batch;
  using I = IntegersOf<B>;

  // The sums and scales of a vector of int8 columns of B. In B both are padded to whole panels. `at` is the index of
  // the first column in the tile.
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

  // Returns a vector of finished sums plus `addend`. In int8 the sums are scaled. `at` is the index of the first sum in
  // the tile.
  static LINFORMER_INLINE B scale_and_add(const TileSums& tile, int64_t at, [[maybe_unused]] int64_t row,
                                          const Columns& columns, B addend, [[maybe_unused]] bool first) {
    if constexpr (left == ElementType::int8) {
      const B sum = scaled_sums_so_far<L>(tile, at, tile.factors[row], columns.sums, first);
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

// Returns the address of the bias of the tile's first column, or null if there is no bias.
LINFORMER_INLINE const float* biases_of(const GemmArgs& gemm, const TileSums& tile) {
  return gemm.epilogue.bias == nullptr ? nullptr : gemm.epilogue.bias + tile.col;
}

// The matrix that an epilogue adds at the end: the residual, or C itself if an int8 product accumulates. In f32 and
// bf16 the sums of a product that accumulates have begun with the values of C.
template <ElementType left>
struct Addition {
  const float* from = nullptr;  // The address of the tile's first element, or null if nothing is added.
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

// Writes C from the finished sums of a tile, for any epilogue and any number of columns. The outer loop is over
// columns, so that the data of a column is read once.
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
      B x = F::scale_and_add(tile, i * slab_width + j, i, columns, addend, tile.slice == 0);
      if (activation != Activation::none) x = activated_any<L, left != ElementType::f32>(activation, x);
      if (addition.from != nullptr) x += load_lanes<L>(addition.from + i * addition.ld + j, count, B(0.f));
      F::template store<out>(gemm.c.data, (tile.row + i) * gemm.c.ld + tile.col + j, count, x);
    }
  });
}

// Writes C from the finished sums of a tile, row by row, for the most frequent tiles: whole vectors of columns, no row
// bias, and GELU or no activation. The vectors of a row share the instructions that aren't arithmetic, so this takes
// half as many instructions as finish_any(). The caller can do other work between two rows. If `one_slice`, K has one
// slice.
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
  // Writes the next row of C.
  LINFORMER_INLINE void finish_row() {
    B x[vectors];
    LINFORMER_UNROLL for (int v = 0; v < vectors; ++v) {
      x[v] = F::scale_and_add(tile_, v * L::width, 0, columns_[v], bias_[v], one_slice || tile_.slice == 0);
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
  TileSums tile_;  // The tile from the next row on.
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
  LINFORMER_ROLL for (int64_t i = tile.rows; i > 0; --i) rows.finish_row();
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

// Writes C from the finished sums of a tile. `panels` is the number of panels that most tiles have. Tiles with exactly
// this number of whole panels are written by WholeRows, which is faster, if it has the steps of the epilogue.
template <class L, ElementType left, int panels>
LINFORMER_INLINE void finish_tile(const GemmArgs& gemm, const TileSums& tile) {
  if constexpr (left == ElementType::bf16) {
    if (gemm.c.type == ElementType::bf16) return finish_as<L, left, ElementType::bf16, panels>(gemm, tile);
  }
  finish_as<L, left, ElementType::f32, panels>(gemm, tile);
}

}  // namespace
}  // namespace LINFORMER_NAMESPACE
