#pragma once

#include "program/ops/operand.h"

namespace LINFORMER_NAMESPACE::ops {

// out = layer norm of `from`: (from - mean) / root(variance + epsilon) * scale + bias
struct Norm {
  View out, from, scale, bias;
  float epsilon = 0;

  OperandList operands() { return {{&from, Use::rows}, {&scale, Use::vector}, {&bias, Use::vector}}; }
};

}  // namespace LINFORMER_NAMESPACE::ops
