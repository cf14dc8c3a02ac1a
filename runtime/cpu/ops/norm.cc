#include "cpu/ops/run.h"

namespace LINFORMER_NAMESPACE::cpu {

Status run(const ops::Norm& op, const Context& context, const Item& item) {
  const MutableMatrix in = context.matrix(op.from, item), out = context.matrix(op.out, item);
  const NormWeights weights{context.floats(op.scale), context.floats(op.bias), op.epsilon, op.kind};
  for (int64_t column = 0; column < op.out.cols; column += op.scale.cols) {
    context.kernels.norm_rows(in.part(0, column, in.rows, op.scale.cols), weights,
                              out.part(0, column, out.rows, op.scale.cols));
  }
  return {};
}

}  // namespace LINFORMER_NAMESPACE::cpu
