#pragma once

#include <algorithm>

#include "base/types.h"
#include "program/key_groups.h"
#include "program/ops/operand.h"

namespace LINFORMER_NAMESPACE::ops {

// out = softmax(query K^T scale) V, head by head. Without `query`, out holds the queries, and the context takes their
// place. A sequence's K and V are
//   whole: one row for each source row. They are read in blocks, with an online softmax. Every query also sees the
//     first rows of `keys_beside` and `values_beside`, as many as the group's projection gives, under the same softmax;
//     or
//   compressed: of each group as many rows as its projection gives.
// They lie as panels of K^T and V, or as rows.
struct Attend {
  View out, query, keys, values;
  View keys_beside, values_beside;  // whole: absent where a layer has no compressed keys beside its window
  View position_bias;               // whole: [heads, 2N - 1], column j - i + N - 1; not of `keys_beside`
  // For a sequence of fewer rows than short_below the scores are compressed instead of the keys. Panels of its own rows
  // (Z W)^T and Z W, and of E^T and E:
  View row_keys, row_values, e_transposed, e;
  // Each thread has its own and uses them for one head at a time: `scores` for as many queries as it has rows, and
  // `softmax` where keys are whole. On a device they are absent.
  View scores, softmax;
  int64_t short_below = 0;   // 0: there are none
  int64_t short_rows = 0;    // the longest of them, in this program
  int64_t short_panels = 0;  // elements of one group's panels in row_keys or row_values
  KeyGroups groups;
  int32_t value_side = 1;  // of the groups' projections: 0 where keys are values, too
  int64_t heads = 0, d_head = 0;
  float scale = 0;                         // on the scores
  ElementType compute = ElementType::f32;  // of scores and context: f32 or bf16
  bool whole = false, causal = false, excludes_masked = false;
  int64_t window = 0;  // whole: |i - j| at most this; 0: all
  int64_t beside = 0;  // whole: the most compressed rows that a query sees beside those of the window

  // Whole: the most keys that a query's scores may be of at once, if the longest sequence has `longest` rows.
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
void list(const Attend& op, TextContext& context);

}  // namespace LINFORMER_NAMESPACE::ops
