// Functions that attention to whole keys (one key for each row) and attention to compressed keys share.
#pragma once

#include "base/checked.h"
#include "cpu/context.h"

namespace LINFORMER_NAMESPACE::cpu {

// A block of queries of one sequence, which attention replaces by their context.
struct QueryBlock {
  MutableMatrix queries;       // One row for each position, with the columns of all heads.
  int64_t position = 0;        // The position of the first row in its sequence.
  int64_t begin = 0, end = 0;  // Only the heads [begin, end) are computed.
  int thread = 0;              // The index of the thread whose scratch and scores are used.
};

// Returns whether the queries are rounded to bf16 in place before attention. Whole keys are read in blocks, and each
// block meets the same queries, so rounding them once saves time. The padded bf16 row must fit into the place of the
// f32 row.
inline bool rounds_queries(const ops::Attend& op) {
  return op.whole && op.compute == ElementType::bf16 && round_up(op.d_head, 32) <= 2 * op.d_head;
}

// Returns the probabilities that the softmax has written over `scores`. In bf16 they take the first half of each row.
LeftMatrix probabilities_of(const ops::Attend& op, MutableMatrix scores);

// Returns K^T (if `transposed`) or V of a group whose keys and values are compressed to k rows. `side` is the view of
// the keys or values of all groups.
RightMatrix compressed_keys_or_values(const View& side, const ops::Attend& op, const KeyGroup& group, int64_t k,
                                      bool transposed, const Context& context, const Item& item);

// Attends to whole (uncompressed) keys, and to the compressed keys beside a window if the layer has any. `item` names
// the sequence of the queries, and its row must be 0.
Status attend_whole(const ops::Attend& op, const QueryBlock& block, const Context& context, const Item& item);

}  // namespace LINFORMER_NAMESPACE::cpu
