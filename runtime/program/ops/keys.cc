#include "program/ops/keys.h"

#include <algorithm>

#include "program/ops/cost.h"

namespace LINFORMER_NAMESPACE::ops {
namespace {

// Counts elements that are read in f32 and written to panels.
void count_packed(const View& panels, double elements, CostContext& context) {
  context.add_bytes(elements, sizeof(float));
  context.add_bytes(elements, element_bytes(panels.type));
}

}  // namespace

void count_cost(const Compress& op, CostContext& context) {
  const int64_t source = context.source_rows();
  for (int32_t g = 0; g < op.groups.count; ++g) {
    const HeadProjection& p = context.program().group(op.groups, g).projections[op.side];
    const int64_t k = p.key_count(source);
    if (p.kind == ProjectionKind::linear) {
      context.add_flop(2 * product(k, source, op.d_head));
      context.add_weights(product(k, source), sizeof(float));
    }
    if (p.kind == ProjectionKind::convolution) {
      const double taps = product(std::min(p.kernel, source), op.d_head, op.d_head);
      context.add_flop(2 * static_cast<double>(k) * taps);
      context.add_weights(taps, sizeof(float));
    }
    context.add_bytes(product(source + k, op.d_head), sizeof(float));
  }
}

void count_cost(const PutTokens& op, CostContext& context) {
  context.add_bytes(product(op.count, context.source_rows()), sizeof(int32_t));
  context.add_bytes(2 * product(op.count, op.out.cols), sizeof(float));
}

void count_cost(const Pack& op, CostContext& context) {
  for (int32_t g = 0; g < op.groups.count; ++g) {
    const int64_t k = context.program().group(op.groups, g).projections[0].key_count(context.source_rows());
    count_packed(op.out, product(k, op.d_head), context);
  }
}

void count_cost(const PackRows& op, CostContext& context) {
  count_packed(op.out, product(context.source_rows(), op.groups.count * op.d_head), context);
}

}  // namespace LINFORMER_NAMESPACE::ops
