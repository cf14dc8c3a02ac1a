// Where each head's keys and values are, and how they are made.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/checked.h"
#include "base/matrix.h"
#include "base/types.h"
#include "linformer/version.h"
#include "program/view.h"

namespace LINFORMER_NAMESPACE {

// Which of the k compressed rows beside a window take part in attention, by the length of the sequence.
struct RowsBeside {
  int64_t k = 0;
  int64_t exact = 0;   // of exact tokens; they come first
  int64_t span = 0;    // positions that the other k - exact rows stand for, in order; 0: all rows always take part
  int64_t window = 0;  // of the layer

  // Returns how many of the k rows take part in a sequence of n rows. They are the first ones: the rows of exact
  // tokens, and of the others those whose positions begin below n. No row takes part if the window shows every row to
  // every query.
  int64_t seen(int64_t n) const {
    if (span == 0) return k;
    return n < shortest() ? 0 : std::min(k, exact + ceil_div((k - exact) * n, span));
  }
  // Returns the smallest number of rows of a sequence in which compressed rows take part.
  int64_t shortest() const { return span == 0 ? 0 : window + 2; }
};

// How one head's keys or values are made from its columns of Z W.
struct HeadProjection {
  ProjectionKind kind = ProjectionKind::none;
  LengthScale length_scale = LengthScale::none;
  int64_t k = 0, kernel = 0, stride = 0;
  RowsBeside beside;  // of a linear one beside a window
  View weight, row_bias, bias;
  // How many rows of keys or values the projection makes of a sequence of n rows.
  int64_t rows_of(int64_t n) const {
    if (kind == ProjectionKind::linear) return beside.k > 0 ? beside.seen(n) : k;
    return n < kernel ? 1 : (n - kernel) / stride + 1;
  }
};

// What the query heads of one group see: their keys and values.
struct KeyGroup {
  int64_t k = 0;              // compressed rows of a sequence of N rows; 0: full attention
  int64_t column = 0;         // of Z W
  int64_t key_offset = 0;     // of its K and V in a sequence's slot, elements
  int64_t panels_offset = 0;  // of its panels in a compressed slot, elements
  HeadProjection projections[2];
};

// A layer's groups, in the program's table: one for each head of keys, or one for each query head where heads have
// projections of their own.
struct KeyGroups {
  int32_t first = 0, count = 0;
  int32_t heads = 1;  // of queries, in each group
  int64_t of_head(int64_t head) const { return head / heads; }
};

// Elements of a group's panels of K^T or V, of `rows` rows of keys or values.
inline int64_t group_panels(int64_t d_head, int64_t rows) {
  return std::max(panel_elements(ElementType::f32, d_head, rows), panel_elements(ElementType::f32, rows, d_head));
}

}  // namespace LINFORMER_NAMESPACE
