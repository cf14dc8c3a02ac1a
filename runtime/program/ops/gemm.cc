#include "program/ops/gemm.h"

#include "program/ops/cost.h"

namespace LINFORMER_NAMESPACE::ops {

void count_cost(const Gemm& op, CostContext& context) {
  double m = context.stage_rows();
  int64_t k = op.a.cols;
  if (context.stage().domain == Domain::source_columns) m = static_cast<double>(op.a.rows);
  if (op.multiplies_e()) {
    k = context.source_rows();
    // Only as many columns of E are read as the sequence has rows.
    context.add_weights(product(m, k), element_bytes(op.a.type));
    context.add_bytes(product(k, op.out.cols), sizeof(float));
  } else {
    context.add(op.a, m);
    context.add_weights(product(k, op.out.cols), element_bytes(op.b.type));
  }
  context.add(op.bias);
  context.add(op.residual, m);
  if (op.accumulate) context.add(op.out, m);
  context.add(op.out, m);
  context.add_flop(2 * product(m, op.out.cols, k));
}

}  // namespace LINFORMER_NAMESPACE::ops
