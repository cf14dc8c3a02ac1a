#include "program/ops/attend.h"

#include <algorithm>

#include "program/ops/cost.h"

namespace LINFORMER_NAMESPACE::ops {

void count_cost(const Attend&, CostContext& context) {
  const Attention& a = context.attention();
  const int64_t source = context.source(), queries = context.program().extents.full_queries();
  const double m = context.m();
  for (int64_t head = 0; head < a.heads; ++head) {
    int64_t keys = a.full ? source : context.program().group(a, head).projections[0].rows_of(source);
    // Full attention leaves out keys that none of the queries taken at once sees: on average over the rows.
    if (a.full && a.causal) keys = std::min(keys, (source + queries) / 2);
    if (a.window > 0) keys = std::min(keys, 2 * a.window + queries);
    if (source < a.short_below) {
      context.add_flop(4 * product(m, source, a.d_head + keys));
      context.add_bytes(2 * product(source, a.d_head + keys), sizeof(float));
      continue;
    }
    context.add_flop(4 * product(m, keys, a.d_head));
    context.add_bytes(2 * product(keys, a.d_head), sizeof(float));
  }
  context.add_bytes(2 * product(m, a.heads * a.d_head), sizeof(float));
}

}  // namespace LINFORMER_NAMESPACE::ops
