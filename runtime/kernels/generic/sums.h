// The sums of a product after its last multiply-add and before its epilogue.
#pragma once

#include "base/matrix.h"
#include "kernels/kernels.h"
#include "linformer/version.h"

namespace LINFORMER_NAMESPACE {

// A sum before the epilogue: in int8 the bits of an int32, otherwise a float.
using PartialSum = float;

// The most panels of B in a slab. The sums of a tile lie in rows that are as wide as a slab.
inline constexpr int64_t slab_panels = 3;
inline constexpr int64_t slab_width = slab_panels * panel_width;

// The scale and the zero point of a row as floats, which the epilogue broadcasts from memory.
struct RowFactors {
  float scale, zero;
  [[gnu::always_inline]] static RowFactors of(const RowScale& row) { return {row.scale, static_cast<float>(row.zero)}; }
};

// The sums of a tile: rows [row, row + rows) by columns [col, col + cols) of C.
struct TileSums {
  const PartialSum* sums = nullptr;  // The rows of sums are slab_width apart.
  int64_t row = 0, rows = 0, col = 0, cols = 0;
  // The members below are for int8.
  int64_t slice = 0;                    // The slice of K.
  const RowFactors* factors = nullptr;  // The factors of the rows in that slice.
  float* folded = nullptr;              // The scaled sums of earlier slices, in the same layout as `sums`.
};
}  // namespace LINFORMER_NAMESPACE
