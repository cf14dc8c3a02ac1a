// Where the elements of a tensor lie in its bytes, and what lies behind them. schema/FORMAT.md says it for readers.
#pragma once

#include <cstdint>

#include "base/checked.h"
#include "base/matrix.h"
#include "base/types.h"
#include "linformer/version.h"

namespace LINFORMER_NAMESPACE {

// Elements of a row of `padded_rows`, 2 bytes each: whole cache lines.
inline constexpr int64_t padded_row_multiple = 32;
// K of an int8 product: 255 x 128 x 2^16 fits into 32 bits, whoever adds up a whole column.
inline constexpr uint64_t max_int8_inputs = uint64_t{1} << 16;

// The parts of a tensor, in bytes from its beginning.
struct StoredParts {
  uint64_t scales = 0;  // int8: f32, one for each row (row_major) or output (panel16), padded to 16
  uint64_t sums = 0;    // int8 panel16: s32, of each output's elements in each slice of inputs; outputs padded to 16
  uint64_t bytes = 0;   // of all
};

// Of a tensor of `rows` rows (outputs) of `cols` elements (inputs). False where 64 bits don't hold it.
[[nodiscard]] inline bool parts_of(ElementType type, TensorLayout layout, uint64_t rows, uint64_t cols,
                                   StoredParts* storage) {
  const uint64_t width = static_cast<uint64_t>(element_bytes(type));
  constexpr uint64_t line = 64;
  uint64_t padded_rows = rows, padded_cols = cols, end = 0;
  if (layout == TensorLayout::panel16) {
    if (!checked_round_up(rows, static_cast<uint64_t>(panel_width), &padded_rows) ||
        !checked_round_up(cols, static_cast<uint64_t>(panel_depth(type)), &padded_cols)) {
      return false;
    }
  } else if (layout == TensorLayout::padded_rows) {
    if (!checked_round_up(cols, static_cast<uint64_t>(padded_row_multiple), &padded_cols)) return false;
  }
  if (!checked_mul(padded_rows, padded_cols, &end) || !checked_mul(end, width, &end)) return false;
  if (type == ElementType::int8) {
    uint64_t all = 0, each = 0;
    if (!checked_round_up(end, line, &storage->scales) || !checked_round_up(rows, 16, &all) ||
        !checked_mul(all, sizeof(float), &each) || !checked_add(storage->scales, each, &end)) {
      return false;
    }
    if (layout == TensorLayout::panel16) {
      storage->sums = end;
      const uint64_t slices = cols / int8_slice + (cols % int8_slice != 0 ? 1 : 0);
      if (!checked_mul(each, slices, &each) || !checked_add(end, each, &end)) return false;
    }
  }
  storage->bytes = end;
  return true;
}

// The element of row `row` and column `col`, counted in elements. The tensor was checked.
inline uint64_t element_index(ElementType type, TensorLayout layout, uint64_t cols, uint64_t row, uint64_t col) {
  if (layout == TensorLayout::row_major) return row * cols + col;
  if (layout == TensorLayout::padded_rows) {
    constexpr uint64_t multiple = static_cast<uint64_t>(padded_row_multiple);
    return row * ((cols + multiple - 1) / multiple * multiple) + col;
  }
  constexpr uint64_t width = static_cast<uint64_t>(panel_width);
  const uint64_t depth = static_cast<uint64_t>(panel_depth(type)), together = depth / 16;
  const uint64_t padded = (cols + depth - 1) / depth * depth;
  return row / width * padded * width + col / together * together * width + row % width * together + col % together;
}

}  // namespace LINFORMER_NAMESPACE
