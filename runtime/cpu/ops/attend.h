// Attention of a block of queries: what the code for whole keys and the code for compressed keys share.
#pragma once

#include "base/checked.h"
#include "cpu/context.h"

namespace LINFORMER_NAMESPACE::cpu {

// Queries of one sequence, whose place the context takes: heads [begin, end) of them, on `thread`.
struct QueryBlock {
  MutableMatrix queries;  // a row for each position, all heads
  int64_t position = 0;   // of the first row in its sequence
  int64_t begin = 0, end = 0;
  int thread = 0;
};

// Whole keys are read in blocks, each by the same queries, so in bf16 these are rounded once, in place, if the padded
// row fits there.
inline bool rounds_queries(const ops::Attend& op) {
  return op.whole && op.compute == ElementType::bf16 && round_up(op.d_head, 32) <= 2 * op.d_head;
}

// What the softmax left of `scores`.
LeftMatrix probabilities_of(const ops::Attend& op, MutableMatrix scores);

// K^T (`transposed`) or V of a group, compressed to k rows, as the group's entry and the view `side` say.
RightMatrix compressed_side(const View& side, const ops::Attend& op, const KeyGroup& group, int64_t k, bool transposed,
                            const Context& context, const Item& item);

// item: row 0 of the sequence whose queries these are.
Status attend_whole(const ops::Attend& op, const QueryBlock& block, const Context& context, const Item& item);

}  // namespace LINFORMER_NAMESPACE::cpu
