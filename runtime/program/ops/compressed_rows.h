// Ops that complete the compressed rows that a product with the projection E gives. In the formulas, n is the number of
// rows that a sequence's keys are computed from.
#pragma once

#include "base/types.h"
#include "program/ops/operand.h"

namespace LINFORMER_NAMESPACE {

// A smaller norm is replaced by this number before anything is divided by it, as in masked-linformer.
inline constexpr double least_norm = 1e-8;

namespace ops {

// out[j] += (sum of the first n elements of e[j]) * bias
struct AddRowSums {
  View out, e, bias;

  static constexpr OperandTable<2> operands() {
    return {{{offsetof(AddRowSums, e), Use::projection}, {offsetof(AddRowSums, bias), Use::vector}}};
  }
};
void write_text(const AddRowSums& op, TextContext& context);

// out[j] *= 1 / sqrt(n), or the norm of e[j] divided by the norm of the first n elements of e[j]
struct ScaleByLength {
  View out, e;
  LengthScale scale = LengthScale::none;

  static constexpr OperandTable<1> operands() { return {{{offsetof(ScaleByLength, e), Use::projection}}}; }
};
void write_text(const ScaleByLength& op, TextContext& context);

}  // namespace ops
}  // namespace LINFORMER_NAMESPACE
