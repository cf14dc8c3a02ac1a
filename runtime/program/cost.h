// What an op of a program costs: derived from its operands and the domain of its stage.
#pragma once

#include "linformer/version.h"
#include "program/program.h"

namespace LINFORMER_NAMESPACE {

struct Cost {
  double flop = 0;          // floating-point operations of products: a multiply-add is two
  double bytes = 0;         // of activations that are read and written, each operand once
  double weight_bytes = 0;  // of weights: once for all sequences of a call
};

// For one sequence of `rows` rows and as many rows of encoder states as `states`. `positions`: masked-LM positions of
// it. Norms, activations, softmax and copies count bytes and no operations.
Cost cost_of(const Program& program, const Stage& stage, const Op& op, int64_t rows, int64_t states,
             int64_t positions = 0);

// Whether the stage is for sequences of so many rows, and so many rows of encoder states.
bool applies(const Stage& stage, int64_t rows, int64_t states);

}  // namespace LINFORMER_NAMESPACE
