#pragma once

#include <cstdint>

#include "base/types.h"
#include "program/ops/operand.h"

namespace LINFORMER_NAMESPACE::ops {

// out = activation(a b + row_bias + bias) + residual. Either b is a weight, or a is a projection E and b are the rows
// of a sequence.
struct Gemm {
  View out, a, b, bias, row_bias, residual;
  Activation activation = Activation::none;
  bool accumulate = false;           // out += a b
  int64_t first_k = 0, first_n = 0;  // The row and column at which the multiplied part of the weight b begins.

  // Returns whether a is E.
  bool multiplies_e() const {
    return b.place == Place::source || b.place == Place::sequence || b.place == Place::key_rows;
  }
  // Returns whether b is a weight that is stored in panels. A tied token embedding is stored row-major.
  bool multiplies_weights() const { return b.place == Place::weight && b.layout == RightLayout::panel16; }

  static constexpr OperandTable<5> operands() {
    return {{{offsetof(Gemm, a), Use::projection},
             {offsetof(Gemm, b), Use::matrix},
             {offsetof(Gemm, bias), Use::vector},
             {offsetof(Gemm, row_bias), Use::vector},
             {offsetof(Gemm, residual), Use::rows}}};
  }
};
void count_cost(const Gemm& op, CostContext& context);
void write_text(const Gemm& op, TextContext& context);

}  // namespace LINFORMER_NAMESPACE::ops
