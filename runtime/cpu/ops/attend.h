// The ways in which a block of queries meets the keys of its sequence.
#pragma once

#include "cpu/context.h"

namespace LINFORMER_NAMESPACE::cpu {

// Heads [begin, end) on `thread`.
struct HeadRange {
  int64_t begin, end;
  int thread;
};

// What the softmax left of `scores`.
LeftMatrix probabilities_of(const Attention& attention, MutableMatrix scores);

// Queries of positions [row, row + query.rows) of one sequence against its keys. The context takes their place.
Status attend_full(const Attention& attention, const Source& source, int64_t sequence, int64_t row, MutableMatrix query,
                   HeadRange range, const Context& context);

}  // namespace LINFORMER_NAMESPACE::cpu
