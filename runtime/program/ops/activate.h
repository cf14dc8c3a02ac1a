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

// out = activation(from) * factor, element by element. `out` may begin where `from` does, with a leading dimension that
// is not larger. An executor may overwrite `from`.
struct Gate {
  View out, from, factor;
  Activation activation = Activation::none;

  static constexpr OperandTable<2> operands() {
    return {{{offsetof(Gate, from), Use::rows}, {offsetof(Gate, factor), Use::rows}}};
  }
};

}  // namespace LINFORMER_NAMESPACE::ops
