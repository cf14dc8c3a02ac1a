// Ops that compute the outputs of a session: rows, pooled vectors, scores.
#pragma once

#include "linformer/types.h"
#include "program/ops/operand.h"

namespace LINFORMER_NAMESPACE::ops {

// out[i] = the row of the caller's masked position i
struct Select {
  View out, rows;

  static constexpr OperandTable<1> operands() { return {{{offsetof(Select, rows), Use::rows}}}; }
};

// out[s] = the rows of sequence s, pooled into one row. They are read from `rows`, or from `first_rows` if the encoder
// has computed only the first row of each sequence. If `rows` is the token embedding, the rows of the sequence's tokens
// are read.
struct Pool {
  View out, rows, first_rows;
  Pooling pooling = Pooling::first_token;
  bool is_asked = false;  // Whether Destination::pooling is used instead of `pooling`.

  static constexpr OperandTable<2> operands() {
    return {{{offsetof(Pool, rows), Use::rows}, {offsetof(Pool, first_rows), Use::rows}}};
  }
};
void count_cost(const Pool& op, CostContext& context);

// out[i] = (a, b, a b, a - b), where a and b are the rows of sequences 2i and 2i + 1
struct Pair {
  View out, from;

  static constexpr OperandTable<1> operands() { return {{{offsetof(Pair, from), Use::rows}}}; }
};

// out = the rows of a sequence, in the caller's memory. If pads or masked tokens were removed, the sequence has fewer
// rows than `out`, whose last rows become zeros. If `rows` is the token embedding, the rows of the sequence's tokens
// are read. If `second` is present, its columns follow those of `rows`.
struct Expand {
  View out, rows, second;

  static constexpr OperandTable<2> operands() {
    return {{{offsetof(Expand, rows), Use::rows}, {offsetof(Expand, second), Use::rows}}};
  }
};
void count_cost(const Expand& op, CostContext& context);

// Writes softmax(logits), or activation(logits), to Destination::probabilities, if the caller wants probabilities.
struct Probabilities {
  View out, logits;
  bool softmax = false;
  Activation activation = Activation::none;

  static constexpr OperandTable<1> operands() { return {{{offsetof(Probabilities, logits), Use::rows}}}; }
};
void write_text(const Probabilities& op, TextContext& context);

// out[s] /= its Euclidean length
struct NormalizeLength {
  View out;

  static constexpr OperandTable<0> operands() { return {}; }
};
void count_cost(const NormalizeLength& op, CostContext& context);
void write_text(const NormalizeLength& op, TextContext& context);

}  // namespace LINFORMER_NAMESPACE::ops
