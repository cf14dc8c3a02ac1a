// Sums of a product between its last multiply-add and its epilogue.
#pragma once

#include "base/matrix.h"
#include "kernels/kernels.h"
#include "linformer/version.h"

namespace LINFORMER_NAMESPACE {

// A sum that is not finished: a float, or the bits of an int32.
using PartialSum = float;

inline constexpr int64_t slab_panels = 3;
inline constexpr int64_t slab_width = slab_panels * panel_width;

// RowScale as the epilogue multiplies by it: both are broadcast from memory.
struct RowFactors {
  float scale, zero;
  [[gnu::always_inline]] static RowFactors of(const RowScale& row) { return {row.scale, static_cast<float>(row.zero)}; }
};

// Sums of rows [row, row + rows) by columns [col, col + cols) of C.
struct TileSums {
  const PartialSum* sums = nullptr;  // slab_width from one row to the next
  int64_t row = 0, rows = 0, col = 0, cols = 0;
  // int8
  int64_t slice = 0;                    // of K
  const RowFactors* factors = nullptr;  // of the rows, in that slice
  float* folded = nullptr;              // what the slices before it gave, lying as the sums do
};
}  // namespace LINFORMER_NAMESPACE
