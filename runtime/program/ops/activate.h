#pragma once

#include "base/types.h"
#include "program/ops/operand.h"

namespace LINFORMER_NAMESPACE::ops {

// out = activation(out)
struct Activate {
  View out;
  Activation activation = Activation::none;

  OperandList operands() { return {}; }
};

// out = activation(first half of `from`) * second half
struct Gate {
  View out, from;
  Activation activation = Activation::none;

  OperandList operands() { return {{&from, Use::rows}}; }
};

}  // namespace LINFORMER_NAMESPACE::ops
