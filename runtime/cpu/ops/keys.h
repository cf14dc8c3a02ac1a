// What the ops of keys and values share.
#pragma once

#include "cpu/context.h"

namespace LINFORMER_NAMESPACE::cpu {

// Scales `rows`, compressed rows of a sequence of n rows, as `scale` says. Row 0 of them was computed by row `first` of e.
void scale_by_length(LengthScale scale, const View& e, int64_t first, int64_t n, const MutableMatrix& rows,
                     const Context& context);

// K^T (`transposed`) or V of a group of heads where keys are whole: all of the item's sequence.
RightMatrix whole_side(const View& side, const KeyGroups& groups, int64_t group, int64_t d_head, bool transposed,
                       const Context& context, const Item& item);

// Short sequences: makes the panels of E^T and E, once for a session.
Status fill_projections(const Context& context);

}  // namespace LINFORMER_NAMESPACE::cpu
