// Computes where a tensor's elements, scales and sums lie in its bytes. schema/FORMAT.md describes the same for
// programs that read files.
#pragma once

#include <cstdint>

#include "base/checked.h"
#include "base/matrix.h"
#include "base/types.h"
#include "linformer/version.h"

namespace LINFORMER_NAMESPACE {

// The layout padded_rows pads each row to a multiple of this many elements. They have 2 bytes each, so a row is a whole
// number of cache lines.
inline constexpr int64_t padded_row_multiple = 32;
// The largest K of an int8 product. A sum over all of K is at most 255 x 128 x 2^16, which fits into a signed 32-bit
// accumulator.
inline constexpr uint64_t max_int8_inputs = uint64_t{1} << 16;

// The offsets of a tensor's parts, in bytes from the tensor's beginning.
struct StoredParts {
  // int8: f32 scales, one for each row (row_major) or output (panel16). Their number is padded to a multiple of 16.
  uint64_t scales = 0;
  // int8 in panel16: for each slice of inputs, the s32 sums of each output's elements in the slice. The number of
  // outputs is padded to a multiple of 16.
  uint64_t sums = 0;
  uint64_t bytes = 0;  // The size of the whole tensor.
};

// Computes the parts of a tensor of `rows` rows (outputs) with `cols` elements (inputs) each. Returns false if a size
// doesn't fit into 64 bits.
[[nodiscard]] inline bool compute_part_offsets(ElementType type, TensorLayout layout, uint64_t rows, uint64_t cols,
                                               StoredParts* parts) {
  const uint64_t width = static_cast<uint64_t>(element_bytes(type));
  constexpr uint64_t line = 64;
  uint64_t padded_rows = rows, padded_cols = cols, end = 0;
  if (layout == TensorLayout::panel16) {
    if (!checked_round_up(rows, static_cast<uint64_t>(panel_width), &padded_rows) ||
        !checked_round_up(cols, static_cast<uint64_t>(panel_k_multiple(type)), &padded_cols)) {
      return false;
    }
  } else if (layout == TensorLayout::padded_rows) {
    if (!checked_round_up(cols, static_cast<uint64_t>(padded_row_multiple), &padded_cols)) return false;
  }
  if (!checked_mul(padded_rows, padded_cols, &end) || !checked_mul(end, width, &end)) return false;
  if (type == ElementType::int8) {
    uint64_t all = 0, each = 0;
    if (!checked_round_up(end, line, &parts->scales) || !checked_round_up(rows, 16, &all) ||
        !checked_mul(all, sizeof(float), &each) || !checked_add(parts->scales, each, &end)) {
      return false;
    }
    if (layout == TensorLayout::panel16) {
      parts->sums = end;
      const uint64_t slices = cols / int8_slice + (cols % int8_slice != 0 ? 1 : 0);
      if (!checked_mul(each, slices, &each) || !checked_add(end, each, &end)) return false;
    }
  }
  parts->bytes = end;
  return true;
}

// Returns the index of the element in row `row` and column `col`, counted in elements from the tensor's beginning.
// compute_part_offsets() must have accepted the tensor's size: this function doesn't check for overflow.
inline uint64_t element_index(ElementType type, TensorLayout layout, uint64_t cols, uint64_t row, uint64_t col) {
  if (layout == TensorLayout::row_major) return row * cols + col;
  if (layout == TensorLayout::padded_rows) {
    constexpr uint64_t multiple = static_cast<uint64_t>(padded_row_multiple);
    return row * ((cols + multiple - 1) / multiple * multiple) + col;
  }
  constexpr uint64_t width = static_cast<uint64_t>(panel_width);
  const uint64_t depth = static_cast<uint64_t>(panel_k_multiple(type)), together = depth / 16;
  const uint64_t padded = (cols + depth - 1) / depth * depth;
  return row / width * padded * width + col / together * together * width + row % width * together + col % together;
}

}  // namespace LINFORMER_NAMESPACE
