// Where the keys and values of each head lie, and how they are computed.
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
  int64_t k = 0;       // The number of compressed rows.
  int64_t exact = 0;   // How many of them, the first ones, belong to the projection's exact_tokens.
  int64_t span = 0;    // The positions that the other k - exact rows stand for, in order. If 0, all rows take part.
  int64_t window = 0;  // The window of the layer.

  // Returns how many of the k rows take part in a sequence of n rows. They are the first ones: the rows of exact
  // tokens, and of the others those whose positions begin below n. No row takes part if the window shows every row to
  // every query.
  int64_t visible_rows(int64_t n) const {
    if (span == 0) return k;
    return n < shortest_sequence() ? 0 : std::min(k, exact + ceil_div((k - exact) * n, span));
  }
  // Returns the smallest number of rows of a sequence in which compressed rows take part.
  int64_t shortest_sequence() const { return span == 0 ? 0 : window + 2; }
};

// How the keys or values of one group of heads are compressed. Z are the rows that attention reads, and W is the weight
// of the keys or values. The projection is applied to the group's columns of Z W, or to Z before W.
struct HeadProjection {
  ProjectionKind kind = ProjectionKind::none;
  LengthScale length_scale = LengthScale::none;
  int64_t k = 0, kernel = 0, stride = 0;
  RowsBeside beside;  // For a linear projection beside a window.
  View weight, row_bias, bias;
  // Returns how many rows of keys or values the projection gives for a sequence of n rows.
  int64_t key_count(int64_t n) const {
    if (kind == ProjectionKind::linear) return beside.k > 0 ? beside.visible_rows(n) : k;
    return n < kernel ? 1 : (n - kernel) / stride + 1;
  }
};

// A group of query heads that see the same keys and values.
struct KeyGroup {
  int64_t k = 0;                  // The compressed rows of a sequence of max_tokens rows. 0 if there are none.
  int64_t column = 0;             // The group's first column in Z W.
  int64_t key_offset = 0;         // Where the group's K and V begin in a sequence's slot, in elements.
  int64_t panels_offset = 0;      // Where the group's panels begin in a slot of compressed keys or values, in elements.
  HeadProjection projections[2];  // The projection of the keys and that of the values.
};

// The groups of a layer, as a range of the program's table. There is one for each head of keys, or one for each query
// head if the heads have their own projections.
struct KeyGroups {
  int32_t first = 0, count = 0;
  int32_t heads = 1;  // The number of query heads in each group.
  // Returns the group of a query head, counted from the first group of the layer.
  int64_t of_head(int64_t head) const { return head / heads; }
};

// Returns the number of elements in a group's panels of K^T or V for `rows` rows of keys or values, whichever is more.
inline int64_t group_panel_elements(int64_t d_head, int64_t rows) {
  return std::max(panel_elements(ElementType::f32, d_head, rows), panel_elements(ElementType::f32, rows, d_head));
}

}  // namespace LINFORMER_NAMESPACE
