#include "program/ops/attend.h"

#include <algorithm>

#include "program/ops/cost.h"

namespace LINFORMER_NAMESPACE::ops {

void count_cost(const Attend& op, CostContext& context) {
  const int64_t source = context.source_rows(), queries = context.program().extents.full_attention_queries();
  const double m = context.stage_rows(), key_bytes = static_cast<double>(element_bytes(op.keys.type));
  for (int64_t head = 0; head < op.heads; ++head) {
    const HeadProjection& projection = context.program().group(op.groups, op.groups.of_head(head)).projections[0];
    int64_t keys = op.whole ? source : projection.key_count(source);
    // Causal full attention leaves out keys that none of the queries of a step sees. On average, this many keys are
    // left.
    if (op.whole && op.causal) keys = std::min(keys, (source + queries) / 2);
    if (op.window > 0) keys = std::min(keys, 2 * op.window + queries);
    if (op.beside > 0) keys += projection.key_count(source);
    if (source < op.short_below) {
      context.add_flop(4 * product(m, source, op.d_head + keys));
      context.add_bytes(2 * product(source, op.d_head + keys), key_bytes);
      continue;
    }
    context.add_flop(4 * product(m, keys, op.d_head));
    context.add_bytes(2 * product(keys, op.d_head), key_bytes);
  }
  context.add_bytes(2 * product(m, op.heads * op.d_head), sizeof(float));
}

}  // namespace LINFORMER_NAMESPACE::ops
