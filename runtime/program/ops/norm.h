#pragma once

#include "program/ops/operand.h"

namespace LINFORMER_NAMESPACE::ops {

// out = layer norm of `from`: (from - mean) / root(variance + epsilon) * scale + bias
struct Norm {
  View out, from, scale, bias;
  float epsilon = 0;

  static constexpr OperandTable<3> operands() {
    return {
        {{offsetof(Norm, from), Use::rows}, {offsetof(Norm, scale), Use::vector}, {offsetof(Norm, bias), Use::vector}}};
  }
};

}  // namespace LINFORMER_NAMESPACE::ops
