#include "program/executor.h"

#include <algorithm>

#include "program/cost.h"

namespace LINFORMER_NAMESPACE {

void Executor::count_costs(const Section& section, const Batch& batch, int64_t first, int64_t sequences,
                           int64_t positions, OpProfile* profile) const {
  for (int32_t s = section.begin; s < section.end; ++s) {
    const Stage& stage = program_.stages[static_cast<size_t>(s)];
    for (int32_t i = stage.op_begin; i < stage.op_end; ++i) {
      const Op& op = program_.ops[static_cast<size_t>(i)];
      OpProfile& counted = profile[i];
      double weight_bytes = 0;  // Weights are read once for all sequences, if the stage runs for any of them.
      for (int64_t q = first; q < first + sequences; ++q) {
        const int64_t states = batch.has_states ? batch.state_starts[q + 1] - batch.state_starts[q] : 0;
        const Cost cost = cost_of(program_, stage, op, batch.length(q), states, q == first ? positions : 0);
        counted.flop += cost.flop;
        counted.bytes += cost.bytes;
        weight_bytes = std::max(weight_bytes, cost.weight_bytes);
      }
      counted.bytes += weight_bytes;
    }
  }
}

bool Executor::reads_only_first_rows(const Request& request) const {
  for (const Output& output : request.outputs) {
    if (output.values.empty()) continue;
    switch (output.kind) {
      case OutputKind::hidden:
        if (output.layer < 0 || output.layer == static_cast<int>(program_.layers.size())) return false;
        break;
      case OutputKind::pooled:
        if (output.pooling.value_or(request.pooling) != Pooling::first_token) return false;
        break;
      case OutputKind::embeddings:
        if (!program_.embeds_first_rows) return false;
        break;
      case OutputKind::logits:
      case OutputKind::probabilities:
        if (!program_.heads[static_cast<size_t>(output.head)].first_rows) return false;
        break;
      case OutputKind::masked_lm:
        return false;
    }
  }
  return true;
}

Section Executor::encoder_section(int step, bool first_rows) const {
  const int layers = static_cast<int>(program_.layers.size());
  if (step == 0) return program_.embedding;
  if (step > layers) return first_rows ? program_.first_rows : program_.finish;
  const LayerSections& layer = program_.layers[static_cast<size_t>(step) - 1];
  return first_rows && step == layers ? layer.keys : layer.stages;
}

const Section* Executor::output_section(const Request& request, size_t i, int layer, Destination* to) const {
  const Output& output = request.outputs[i];
  const bool is_hidden = output.kind == OutputKind::hidden;
  if (output.values.empty() || layer != (is_hidden ? output.layer : -1)) return nullptr;
  to->values = output.values.data();
  switch (output.kind) {
    case OutputKind::hidden:
      if (layer < 0) return &program_.output_hidden;
      return layer == 0 ? &program_.embedding_hidden : &program_.layers[static_cast<size_t>(layer) - 1].hidden;
    case OutputKind::pooled:
      to->pooling = output.pooling.value_or(request.pooling);
      return &program_.pooled;
    case OutputKind::embeddings:
      return &program_.sentence_embedding;
    case OutputKind::logits:
    case OutputKind::probabilities:
      to->values = nullptr;
      return set_head_destination(request.outputs, i, to) ? &program_.heads[static_cast<size_t>(output.head)].stages
                                                          : nullptr;
    case OutputKind::masked_lm:
      break;
  }
  return nullptr;
}

bool Executor::set_head_destination(std::span<const Output> outputs, size_t i, Destination* to) {
  // The head's first output of logits and its first output of probabilities are computed together.
  const auto first = [&](OutputKind kind) {
    size_t at = 0;
    while (at < outputs.size() &&
           (outputs[at].kind != kind || outputs[at].head != outputs[i].head || outputs[at].values.empty())) {
      ++at;
    }
    return at;
  };
  const size_t logits = first(OutputKind::logits), probabilities = first(OutputKind::probabilities);
  const bool both = logits < outputs.size() && probabilities < outputs.size();
  if (both && i == probabilities) return false;
  float* const values = outputs[i].values.data();
  if (outputs[i].kind == OutputKind::logits) {
    to->values = values;
    if (both && i == logits) to->probabilities = outputs[probabilities].values.data();
  } else {
    to->probabilities = values;
  }
  return true;
}

}  // namespace LINFORMER_NAMESPACE
