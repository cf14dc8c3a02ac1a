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
void write_text(const Activate& op, TextContext& context);

// out = activation(from) * factor, element by element. `out` may lie in the memory of `from` if both begin at the same
// address and the leading dimension of `out` is not larger. An executor may overwrite `from` in any case.
struct Gate {
  View out, from, factor;
  Activation activation = Activation::none;

  static constexpr OperandTable<2> operands() {
    return {{{offsetof(Gate, from), Use::rows}, {offsetof(Gate, factor), Use::rows}}};
  }
};
void write_text(const Gate& op, TextContext& context);

}  // namespace LINFORMER_NAMESPACE::ops
