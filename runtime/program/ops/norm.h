#pragma once

#include "base/types.h"
#include "program/ops/operand.h"

namespace LINFORMER_NAMESPACE::ops {

// Normalises each group of scale.cols columns of each row of `from`. NormKind has the formulas. `bias` may be absent.
struct Norm {
  View out, from, scale, bias;
  float epsilon = 0;
  NormKind kind = NormKind::layer;

  static constexpr OperandTable<3> operands() {
    return {
        {{offsetof(Norm, from), Use::rows}, {offsetof(Norm, scale), Use::vector}, {offsetof(Norm, bias), Use::vector}}};
  }
};
void write_text(const Norm& op, TextContext& context);

}  // namespace LINFORMER_NAMESPACE::ops
