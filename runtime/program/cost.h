// The cost of an op in floating-point operations and bytes, computed from its operands and the domain of its stage.
#pragma once

#include "linformer/version.h"
#include "program/program.h"

namespace LINFORMER_NAMESPACE {

struct Cost {
  double flop = 0;          // Floating-point operations of products. A multiply-add counts as two.
  double bytes = 0;         // Bytes of activations that are read and written, each operand once.
  double weight_bytes = 0;  // Bytes of weights that are read, once for all sequences of a call.
};

// Returns the cost of an op for one sequence of `rows` rows with `states` rows of encoder states and `positions`
// masked-LM positions. Norms, activations, softmax and copies count bytes and no operations. The cost is zero if the
// stage doesn't run for the sequence.
Cost cost_of(const Program& program, const Stage& stage, const Op& op, int64_t rows, int64_t states,
             int64_t positions = 0);

// Returns whether the stage runs for a sequence of `rows` rows with `states` rows of encoder states.
bool applies(const Stage& stage, int64_t rows, int64_t states);

}  // namespace LINFORMER_NAMESPACE
