#pragma once

#include "base/types.h"
#include "program/ops/operand.h"

namespace LINFORMER_NAMESPACE::ops {

// out = activation(a b + row_bias + bias) + residual. Either b is a weight, or a is E and b are a text's rows.
struct Gemm {
  View out, a, b, bias, row_bias, residual;
  Activation activation = Activation::none;
  bool accumulate = false;           // out += a b
  int64_t first_k = 0, first_n = 0;  // the part of the weight b that is multiplied begins here

  bool multiplies_e() const { return b.place != Place::weight; }
  // Whether b is a matrix of the model that was stored for products: neither rows nor a tied token embedding.
  bool multiplies_weights() const { return b.place == Place::weight && b.layout == RightLayout::panel16; }

  OperandList operands() {
    return {{&a, Use::projection},
            {&b, Use::matrix},
            {&bias, Use::vector},
            {&row_bias, Use::vector},
            {&residual, Use::rows}};
  }
};

}  // namespace LINFORMER_NAMESPACE::ops
