// Ops that copy, add, convert or clear rows.
#pragma once

#include "program/ops/operand.h"

namespace LINFORMER_NAMESPACE {

enum class ZeroRows : uint8_t { all, pads, masked };

namespace ops {

// out[r] = 0 for each row r that `which` selects
struct Zero {
  View out;
  ZeroRows which = ZeroRows::all;

  static constexpr OperandTable<0> operands() { return {}; }
};
void write_text(const Zero& op, TextContext& context);

// out = from
struct Copy {
  View out, from;

  static constexpr OperandTable<1> operands() { return {{{offsetof(Copy, from), Use::rows}}}; }
};

// out = from, rounded to the type of `out`, which has 16 bits or is int8 with a scale for each row and slice of columns
struct Convert {
  View out, from;

  static constexpr OperandTable<1> operands() { return {{{offsetof(Convert, from), Use::rows}}}; }
};

// out += from
struct Add {
  View out, from;

  static constexpr OperandTable<1> operands() { return {{{offsetof(Add, from), Use::rows}}}; }
};
void write_text(const Add& op, TextContext& context);

}  // namespace ops
}  // namespace LINFORMER_NAMESPACE
