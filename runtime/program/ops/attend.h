#pragma once

#include <algorithm>

#include "base/types.h"
#include "program/key_groups.h"
#include "program/ops/operand.h"

namespace LINFORMER_NAMESPACE::ops {

// out = softmax(query K^T scale) V, head by head. If `query` is absent, `out` holds the queries and the context
// replaces them. The keys K and values V of a sequence lie as panels of K^T and V, or as rows. Keys are of two kinds:
//   Whole keys: there is one for each row that keys are computed from. They are read in blocks with an online softmax.
//     If `keys_beside` is present, the same softmax also covers its first rows, as many as the group's projection
//     gives. Every query sees these rows.
//   Compressed keys: each group has as many as its projection gives.
struct Attend {
  View out, query, keys, values;
  View keys_beside, values_beside;  // Whole keys: absent if the layer has no compressed keys beside its window.
  // Whole keys: [heads, 2N - 1]. The score of the query at i and the key at j gets column j - i + N - 1. Keys of
  // `keys_beside` get no bias.
  View position_bias;
  // If a sequence's keys are computed from fewer than short_below rows, the scores are compressed instead of the keys.
  // Only then are the four views below read: panels of (Z W)^T and Z W, where Z are the rows that keys are computed
  // from and W is the weight of keys or values, and panels of E^T and E.
  View row_keys, row_values, e_transposed, e;
  // Memory of each thread for one head at a time: the scores of as many queries as `scores` has rows and, if keys are
  // whole, the state of the online softmax. On a device the two views are absent.
  View scores, softmax;
  int64_t short_below = 0;   // If 0, scores are never compressed.
  int64_t short_rows = 0;    // The most rows that a sequence with compressed scores can have in this program.
  int64_t short_panels = 0;  // The elements of one group's panels in row_keys or row_values.
  KeyGroups groups;
  int32_t value_side = 1;  // The index of the values' projection in a group: 0 if the values are the keys.
  int64_t heads = 0, d_head = 0;
  float scale = 0;                         // Scores are multiplied by it.
  ElementType compute = ElementType::f32;  // The type of scores and context; on a device also f16.
  bool whole = false, causal = false, excludes_masked = false;
  int64_t window = 0;  // Whole keys: the query at i sees the key at j if |i - j| is at most this. If 0, it sees all.
  int64_t beside = 0;  // Whole keys: the most compressed rows that a query sees in addition to its window.

  // Returns the larger of two numbers: the most whole keys of a sequence, if they are computed from at most `longest`
  // rows, and the most compressed keys beside a window.
  int64_t most_keys(int64_t longest) const { return std::max(longest, beside); }

  static constexpr OperandTable<12> operands() {
    return {{{offsetof(Attend, query), Use::rows},
             {offsetof(Attend, keys), Use::rows},
             {offsetof(Attend, values), Use::rows},
             {offsetof(Attend, keys_beside), Use::rows},
             {offsetof(Attend, values_beside), Use::rows},
             {offsetof(Attend, row_keys), Use::rows},
             {offsetof(Attend, row_values), Use::rows},
             {offsetof(Attend, e_transposed), Use::rows},
             {offsetof(Attend, e), Use::rows},
             {offsetof(Attend, scores), Use::rows},
             {offsetof(Attend, softmax), Use::rows},
             {offsetof(Attend, position_bias), Use::rows}}};
  }
};
void count_cost(const Attend& op, CostContext& context);
void write_text(const Attend& op, TextContext& context);

}  // namespace LINFORMER_NAMESPACE::ops
