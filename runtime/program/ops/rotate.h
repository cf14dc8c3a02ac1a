#pragma once

#include "program/ops/operand.h"

namespace LINFORMER_NAMESPACE::ops {

// Applies rotary positions (Su et al. 2021) to the columns of each head in `out`, a block of queries or keys. Row p of
// `table` has the cosines of the angles of position p, then the sines.
struct Rotate {
  View out, table;

  static constexpr OperandTable<1> operands() { return {{{offsetof(Rotate, table), Use::rows}}}; }
};
void write_text(const Rotate& op, TextContext& context);

}  // namespace LINFORMER_NAMESPACE::ops
