// Ops that turn a sequence's rows of Z W, its rows times the weight of keys or values, into the keys and values that
// queries read.
#pragma once

#include "base/types.h"
#include "model/limits.h"
#include "program/key_groups.h"
#include "program/ops/operand.h"

namespace LINFORMER_NAMESPACE::ops {

// out = the compressed keys (side 0) or values (side 1) of the item's group, computed from the group's columns of
// `projected`, which holds Z W. The group's projection is linear, a convolution or pooling.
struct Compress {
  View out, projected;
  KeyGroups groups;
  int64_t d_head = 0;
  int32_t side = 0;

  static constexpr OperandTable<1> operands() { return {{{offsetof(Compress, projected), Use::rows}}}; }
};
void count_cost(const Compress& op, CostContext& context);
void write_text(const Compress& op, TextContext& context);

// Each row j < count of `out` belongs to the token tokens[j]. If that token occurs unmasked in the sequence, row j
// becomes a copy of the row in `rows` at its first unmasked occurrence. Otherwise row j keeps its values.
struct PutTokens {
  View out, rows;
  uint32_t tokens[max_exact_tokens] = {};
  int32_t count = 0;

  static constexpr OperandTable<1> operands() { return {{{offsetof(PutTokens, rows), Use::rows}}}; }
};
void count_cost(const PutTokens& op, CostContext& context);
void write_text(const PutTokens& op, TextContext& context);

// Packs the compressed keys or values of the item's group into panels of K^T (if `transposed`) or V.
struct Pack {
  View out, rows;
  KeyGroups groups;
  int64_t d_head = 0;
  bool transposed = false;

  static constexpr OperandTable<1> operands() { return {{{offsetof(Pack, rows), Use::rows}}}; }
};
void count_cost(const Pack& op, CostContext& context);
void write_text(const Pack& op, TextContext& context);

// Packs the item's group's columns of Z W, for a short sequence, into panels of (Z W)^T (if `transposed`) or Z W.
struct PackRows {
  View out, rows;
  KeyGroups groups;
  int64_t d_head = 0;
  int64_t panels = 0;  // The elements of one group's panels.
  bool transposed = false;

  static constexpr OperandTable<1> operands() { return {{{offsetof(PackRows, rows), Use::rows}}}; }
};
void count_cost(const PackRows& op, CostContext& context);
void write_text(const PackRows& op, TextContext& context);

// Packs a block of rows of whole keys or values into its part of each group's panels of K^T (if `transposed`) or V.
struct PackBlock {
  View out, rows;
  KeyGroups groups;
  int64_t d_head = 0;
  bool transposed = false;

  static constexpr OperandTable<1> operands() { return {{{offsetof(PackBlock, rows), Use::rows}}}; }
};

}  // namespace LINFORMER_NAMESPACE::ops
