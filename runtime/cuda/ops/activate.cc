#include "cuda/ops/run.h"
#include "cuda/products.h"

namespace LINFORMER_NAMESPACE::cuda {

Status run(const ops::Activate& op, Context& context, const Item& item) {
  return finish(context, context.operand(op.out, item), nullptr, nullptr, op.activation);
}

Status run(const ops::Gate& op, Context& context, const Item& item) {
  const Operand out = context.operand(op.out, item);
  const Operand from = context.operand(op.from, item), factor = context.operand(op.factor, item);
  return context.launch_each_element(
      Gate{out.floats(), out.ld, from.floats(), from.ld, factor.floats(), factor.ld, op.activation}, out.rows,
      out.cols);
}

}  // namespace LINFORMER_NAMESPACE::cuda
