// A layer's attention, as the ops of its keys, its queries and its context read it.
#pragma once

#include <cstdint>

#include "base/types.h"
#include "linformer/version.h"
#include "program/view.h"

namespace LINFORMER_NAMESPACE {

// One head's way from its columns of Z W to its keys or values.
struct HeadProjection {
  ProjectionKind kind = ProjectionKind::none;
  LengthScale length_scale = LengthScale::none;
  int64_t k = 0, kernel = 0, stride = 0;
  View weight, row_bias, bias;
  // Compressed rows of a sequence of n rows.
  int64_t rows_of(int64_t n) const {
    if (kind == ProjectionKind::linear) return k;
    return n < kernel ? 1 : (n - kernel) / stride + 1;
  }
};

// Heads that see the same keys and values: one query head, or all of them when there is one key/value head.
struct KeyGroup {
  int64_t k = 0;              // compressed rows of a sequence of N rows; 0: full attention
  int64_t column = 0;         // of Z W
  int64_t key_offset = 0;     // of its K and V in a sequence's slot, elements
  int64_t panels_offset = 0;  // of its panels in a compressed slot, elements
  HeadProjection projections[2];
};

struct Attention {
  bool full = false;     // no compression: keys in blocks of rows, with an online softmax
  bool by_head = false;  // each group has projections of its own, and K and V of its own width
  bool value_is_key = false, causal = false, excludes_masked = false, zeroes_masked = false;
  KeySource key_source = KeySource::own;
  View own;  // packed rows that keys are made of where they are no encoder states
  int64_t heads = 0, d_head = 0;
  int64_t key_width = 0;                   // of Z W
  int64_t key_ld = 0;                      // of K and V in a slot
  float scale = 0;                         // on the scores
  ElementType compute = ElementType::f32;  // of scores and context: f32 or bf16
  int32_t first_group = 0, groups = 0;
  int64_t window = 0;  // full: |i - j| at most this; 0: all
  View position_bias;  // full: [heads, 2N - 1], column j - i + N - 1
  // Sequences of fewer rows than this are short: their scores are compressed instead of their keys, by panels in the
  // projection table. 0: there are none.
  int64_t short_below = 0;
  int64_t short_rows = 0;      // the longest of them, in this program
  int64_t short_panels = 0;    // of one head's (Z W)^T or Z W in a slot of keys, elements
  int64_t tables[2] = {0, 0};  // E^T of keys and E of values, elements
};

}  // namespace LINFORMER_NAMESPACE
