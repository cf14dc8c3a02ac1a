// What compressed rows lack after a product with E.
#pragma once

#include "base/types.h"
#include "program/ops/operand.h"

namespace LINFORMER_NAMESPACE {

// A norm below this counts as this much, as masked-linformer has it.
inline constexpr double least_norm = 1e-8;

namespace ops {

// out[j] += (sum of the first n elements of e[j]) * bias
struct AddRowSums {
  View out, e, bias;

  OperandList operands() { return {{&e, Use::projection}, {&bias, Use::vector}}; }
};

// out[j] *= what the text's length makes of row j of e
struct ScaleByLength {
  View out, e;
  LengthScale scale = LengthScale::none;

  OperandList operands() { return {{&e, Use::projection}}; }
};

}  // namespace ops
}  // namespace LINFORMER_NAMESPACE
