// Ops that take tokens or the caller's vectors and compute from them the rows that the first layer reads.
#pragma once

#include "program/ops/operand.h"

namespace LINFORMER_NAMESPACE::ops {

// out[r] = table[token of r] * scale
struct Gather {
  View out, table;
  float scale = 1.f;

  static constexpr OperandTable<1> operands() { return {{{offsetof(Gather, table), Use::table}}}; }
};
void count_cost(const Gather& op, CostContext& context);
void write_text(const Gather& op, TextContext& context);

// out[r] += table[position of r]
struct AddPosition {
  View out, table;

  static constexpr OperandTable<1> operands() { return {{{offsetof(AddPosition, table), Use::table}}}; }
};
void count_cost(const AddPosition& op, CostContext& context);
void write_text(const AddPosition& op, TextContext& context);

// out[r] += table[token type of r]
struct AddType {
  View out, table;

  static constexpr OperandTable<1> operands() { return {{{offsetof(AddType, table), Use::table}}}; }
};
void count_cost(const AddType& op, CostContext& context);
void write_text(const AddType& op, TextContext& context);

// out[r] = the caller's vector of r, or zero if r is the prefix row
struct ReadVectors {
  View out;

  static constexpr OperandTable<0> operands() { return {}; }
};

// out[r] = prefix if r is the prefix row
struct PutPrefix {
  View out, prefix;

  static constexpr OperandTable<1> operands() { return {{{offsetof(PutPrefix, prefix), Use::vector}}}; }
};

}  // namespace LINFORMER_NAMESPACE::ops
