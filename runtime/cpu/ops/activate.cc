#include <algorithm>

#include "cpu/ops/run.h"

namespace LINFORMER_NAMESPACE::cpu {

Status run(const ops::Activate& op, const Context& context, const Item& item) {
  context.kernels.activate(op.activation, context.matrix(op.out, item));
  return {};
}

// Rows of `from` become rows of half the width, closer together in the same memory: each is read before its place is
// written.
Status run(const ops::Gate& op, const Context& context, const Item& item) {
  const MutableMatrix in = context.matrix(op.from, item), out = context.matrix(op.out, item);
  for (int64_t r = 0; r < out.rows; ++r) {
    const MutableMatrix row = in.part(r, 0, 1, out.cols);
    context.kernels.activate(op.activation, row);
    context.kernels.multiply(row.data, row.data + out.cols, out.cols);
    std::copy_n(row.data, out.cols, out.row(r));
  }
  return {};
}

}  // namespace LINFORMER_NAMESPACE::cpu
