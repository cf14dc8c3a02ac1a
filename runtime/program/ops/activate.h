#pragma once

#include "base/types.h"
#include "program/ops/operand.h"

namespace LINFORMER_NAMESPACE::ops {

// out = activation(out)
struct Activate {
  View out;
  Activation activation = Activation::none;

  static constexpr OperandTable<0> operands() { return {}; }
};

// out = activation(first half of `from`) * second half
struct Gate {
  View out, from;
  Activation activation = Activation::none;

  static constexpr OperandTable<1> operands() { return {{{offsetof(Gate, from), Use::rows}}}; }
};

}  // namespace LINFORMER_NAMESPACE::ops
