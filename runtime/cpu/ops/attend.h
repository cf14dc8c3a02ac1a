// The ways in which a block of queries meets the keys of its sequence.
#pragma once

#include "cpu/context.h"

namespace LINFORMER_NAMESPACE::cpu {

// Queries of one sequence, whose place the context takes: heads [begin, end) of them, on `thread`.
struct QueryBlock {
  MutableMatrix queries;  // a row for each position, all heads
  int64_t position = 0;   // of the first row in its sequence
  int64_t begin = 0, end = 0;
  int thread = 0;
};

// What the softmax left of `scores`.
LeftMatrix probabilities_of(const ops::Attend& op, MutableMatrix scores);

// item.sequence: whose queries these are.
Status attend_whole(const ops::Attend& op, const QueryBlock& block, const Context& context, const Item& item);

}  // namespace LINFORMER_NAMESPACE::cpu
