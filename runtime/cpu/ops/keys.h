// What the ops of keys and values share.
#pragma once

#include "cpu/context.h"

namespace LINFORMER_NAMESPACE::cpu {

// Multiplies compressed rows, of which the first is made by row `first` of e, by what a text of n rows makes of each.
void scale_by_length(LengthScale scale, const View& e, int64_t first, int64_t n, const MutableMatrix& rows,
                     const Context& context);

// Full attention: K^T or V of a group of heads, all of a sequence.
RightMatrix full_side(const Attention& attention, const Source& source, int64_t sequence, int64_t group, bool of_keys,
                      const Context& context);

// Short sequences: makes the panels of E^T and E, once for a session.
Status fill_projections(const Context& context);

}  // namespace LINFORMER_NAMESPACE::cpu
