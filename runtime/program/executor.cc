#include "program/executor.h"

#include <algorithm>

#include "program/cost.h"

namespace linformer {

void Executor::count_costs(const Section& section, const Batch& batch, int64_t first, int64_t sequences,
                           int64_t positions, OpProfile* profile) const {
  for (int32_t s = section.begin; s < section.end; ++s) {
    const Stage& stage = program_.stages[static_cast<size_t>(s)];
    for (int32_t i = stage.op_begin; i < stage.op_end; ++i) {
      const Op& op = program_.ops[static_cast<size_t>(i)];
      OpProfile& counted = profile[i];
      double weight_bytes = 0;  // read once for all sequences, where the stage is for any
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

}  // namespace linformer
