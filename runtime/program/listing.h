// The text of a program's listing, with one line for each op.
#pragma once

#include "base/description.h"
#include "linformer/version.h"
#include "program/program.h"

namespace LINFORMER_NAMESPACE {

struct OpText {
  char condition[24];  // The lengths that its stage runs for: "always", "n < 188", "n >= 188".
  char operands[384];  // For example "query = rows[512, 768] x layers.0.q_proj.weight[768, 768] + bias".
};
// Returns the text of an op for one sequence of `rows` rows with `states` rows of encoder states.
OpText describe(const Program& program, const ModelDescription& description, const Stage& stage, const Op& op,
                int64_t rows, int64_t states);

// The part of the model that a stage belongs to: "embedding", "layer 3", "head 0", ...
struct PartText {
  char text[24];
};
PartText part_of(const Program& program, int32_t stage);

}  // namespace LINFORMER_NAMESPACE
