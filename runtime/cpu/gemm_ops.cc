// Products with weights on the right, and E Z and E (Z W) with rows there.
#include <algorithm>

#include "cpu/executor.h"

namespace linformer {

Status CpuExecutor::gemm(const Op& op, const Item& item) const {
  GemmArgs args;
  args.epilogue.activation = op.activation;
  args.epilogue.bias = floats(op.bias);
  args.b = {nullptr, op.b.type, op.b.layout, op.a.cols, op.out.cols, op.b.ld};
  if (item.stage.domain == Domain::source_columns) {
    // A chunk of the columns of E Z, all k rows.
    const Source source = source_of(attention_of(item));
    const int64_t n = source.length(item.sequence);
    args.a = ConstMatrix{floats(op.a), op.a.rows, n, op.a.ld};
    args.b.data = source.rows + source.starts[item.sequence] * source.ld + item.column;
    args.b.ld = source.ld;
    args.b.k = n;
    args.b.n = item.columns;
    args.c = MutableMatrix{address(op.out, item) + item.column, op.a.rows, item.columns, op.out.ld};
  } else {
    args.a = matrix(op.a, item);
    args.c = matrix(op.out, item);
    if (op.b.place == Place::weight) {
      args.b.data = tensor(op.b);
    } else {  // E (Z W)
      const int64_t n = source_of(attention_of(item)).length(item.sequence);
      Item whole = item;
      whole.row = 0;
      args.b.data = address(op.b, whole);
      args.b.k = args.a.cols = n;
    }
    if (op.residual.present()) args.epilogue.residual = matrix(op.residual, item);
    if (op.row_bias.present()) args.epilogue.row_bias = floats(op.row_bias) + item.row;
  }
  const ptrdiff_t index = &op - program_.ops.data();
  return provider_->run(gemms_.ops[static_cast<size_t>(index)], args, scratch(item.thread));
}

// out[j] += (E 1)[j] b: the part of E (Z W + 1 b^T) that (E Z) W lacks.
void CpuExecutor::add_row_sums(const Op& op, const Item& item) const {
  const int64_t n = source_of(attention_of(item)).length(item.sequence);
  const MutableMatrix out = matrix(op.out, item);
  const float* bias = floats(op.bias);
  const float* row = address(op.a, item);
  for (int64_t j = 0; j < item.rows; ++j, row += op.a.ld) {
    constexpr int lanes = 8;  // a fixed order of summation
    float sums[lanes] = {};
    int64_t t = 0;
    for (; t + lanes <= n; t += lanes) {
      for (int lane = 0; lane < lanes; ++lane) sums[lane] += row[t + lane];
    }
    for (int lane = 0; t < n; ++t, ++lane) sums[lane] += row[t];
    const float sum = ((sums[0] + sums[4]) + (sums[2] + sums[6])) + ((sums[1] + sums[5]) + (sums[3] + sums[7]));
    for (int64_t i = 0; i < out.cols; ++i) out.row(j)[i] += sum * bias[i];
  }
}

}  // namespace linformer
