#include "cpu/ops/run.h"

namespace LINFORMER_NAMESPACE::cpu {

Status run(const ops::Norm& op, const Context& context, const Item& item) {
  MutableMatrix in = context.matrix(op.from, item), out = context.matrix(op.out, item);
  in.cols = out.cols = op.scale.cols;
  context.kernels.layer_norm_rows(in, {context.floats(op.scale), context.floats(op.bias), op.epsilon}, out);
  return {};
}

}  // namespace LINFORMER_NAMESPACE::cpu
