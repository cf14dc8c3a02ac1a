#include "program/ops/keys.h"

#include <algorithm>

#include "program/ops/cost.h"

namespace LINFORMER_NAMESPACE::ops {
namespace {

// Panels of `count` rows of keys and values: both are read as rows and written as panels.
void count_packed(const Attention& attention, int64_t count, CostContext& context) {
  context.add_bytes(4 * product(count, attention.d_head), sizeof(float));
}

}  // namespace

void count_cost(const Compress& op, CostContext& context) {
  const Attention& a = context.attention();
  const int64_t source = context.source();
  for (int32_t g = 0; g < a.groups; ++g) {
    const HeadProjection& p = context.program().group(a, g).projections[op.side];
    const int64_t k = p.rows_of(source);
    if (p.kind == ProjectionKind::linear) {
      context.add_flop(2 * product(k, source, a.d_head));
      context.add_weights(product(k, source), sizeof(float));
    }
    if (p.kind == ProjectionKind::convolution) {
      const double taps = product(std::min(p.kernel, source), a.d_head, a.d_head);
      context.add_flop(2 * static_cast<double>(k) * taps);
      context.add_weights(taps, sizeof(float));
    }
    context.add_bytes(product(source + k, a.d_head), sizeof(float));
  }
}

void count_cost(const Pack&, CostContext& context) {
  const Attention& a = context.attention();
  for (int32_t g = 0; g < a.groups; ++g) {
    count_packed(a, context.program().group(a, g).projections[0].rows_of(context.source()), context);
  }
}

void count_cost(const PackRows&, CostContext& context) {
  const Attention& a = context.attention();
  for (int32_t g = 0; g < a.groups; ++g) count_packed(a, context.source(), context);
}

}  // namespace LINFORMER_NAMESPACE::ops
