#pragma once

#include "program/ops/operand.h"

namespace LINFORMER_NAMESPACE::ops {

// Turns each head's columns of `out`, a block of queries or keys, by their rows' positions. Row p of `table`: the
// cosines of p's angles, then the sines. Su et al. 2021.
struct Rotate {
  View out, table;

  static constexpr OperandTable<1> operands() { return {{{offsetof(Rotate, table), Use::rows}}}; }
};
void list(const Rotate& op, TextContext& context);

}  // namespace LINFORMER_NAMESPACE::ops
