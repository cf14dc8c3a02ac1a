// Sums of a product between its last multiply-add and its epilogue.
#pragma once

#include "base/matrix.h"
#include "kernels/kernels.h"
#include "linformer/version.h"

namespace LINFORMER_NAMESPACE {

// A sum that is not finished: a float, or the bits of an int32.
using PartialSum = float;

// RowScale as the epilogue multiplies by it: both are broadcast from memory.
struct RowFactors {
  float scale, zero;
  [[gnu::always_inline]] static RowFactors of(const RowScale& row) { return {row.scale, static_cast<float>(row.zero)}; }
};

// What a tile's sums are when its last block of K is done.
enum class SumKind : uint8_t { floats, int8, folded_int8 };

// Sums of rows [row, row + rows) by columns [col, col + cols) of C.
struct TileSums {
  const PartialSum* sums = nullptr;
  int64_t ld = 0;  // elements
  int64_t row = 0, rows = 0, col = 0, cols = 0;
  const RowFactors* factors = nullptr;  // int8 but folded: of the rows, in one slice
  int64_t factors_ld = 0;
};

namespace {

inline constexpr int64_t slab_panels = 3;
inline constexpr int64_t slab_width = slab_panels * panel_width;  // from one row of sums to the next

}  // namespace
}  // namespace LINFORMER_NAMESPACE
