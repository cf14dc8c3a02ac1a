#include <algorithm>

#include "cpu/ops/run.h"

namespace LINFORMER_NAMESPACE::cpu {

Status run(const ops::Activate& op, const Context& context, const Item& item) {
  context.kernels.activate(op.activation, context.matrix(op.out, item));
  return {};
}

// The loop finishes one row before the next, because a row of `out` may overwrite earlier rows of `from` and `factor`.
Status run(const ops::Gate& op, const Context& context, const Item& item) {
  const MutableMatrix from = context.matrix(op.from, item), out = context.matrix(op.out, item);
  const MutableMatrix factor = context.matrix(op.factor, item);
  for (int64_t r = 0; r < out.rows; ++r) {
    context.kernels.activate(op.activation, from.part(r, 0, 1, out.cols));
    context.kernels.multiply(from.row(r), factor.row(r), out.cols);
    if (out.row(r) != from.row(r)) std::copy_n(from.row(r), out.cols, out.row(r));
  }
  return {};
}

}  // namespace LINFORMER_NAMESPACE::cpu
