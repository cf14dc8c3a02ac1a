// Functions that several ops on keys and values share.
#pragma once

#include "cpu/context.h"

namespace LINFORMER_NAMESPACE::cpu {

// Scales the compressed rows of a sequence of n rows as `scale` says. Row 0 of `rows` was computed with row `first` of
// the projection `e`.
void scale_by_length(LengthScale scale, const View& e, int64_t first, int64_t n, const MutableMatrix& rows,
                     const Context& context);

// Returns K^T (if `transposed`) or V of a group of heads with whole keys, for all rows of the item's sequence.
RightMatrix whole_keys_or_values(const View& side, const KeyGroups& groups, int64_t group, int64_t d_head,
                                 bool transposed, const Context& context, const Item& item);

// Fills the table of panels of E^T and E that short sequences read. The executor calls it once for each session.
// Returns out_of_memory if there is no memory to widen a projection.
Status fill_projection_table(const Context& context);

}  // namespace LINFORMER_NAMESPACE::cpu
