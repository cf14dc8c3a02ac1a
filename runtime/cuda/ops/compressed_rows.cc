#include "cuda/ops/run.h"
#include "cuda/products.h"
#include "cuda/rows.h"

namespace LINFORMER_NAMESPACE::cuda {

// Adds (E 1) b^T, where 1 is a vector of ones. It is for layers that add the bias b of a linear layer before they
// multiply by E: E (Z W + 1 b^T) = (E Z) W + (E 1) b^T. The product before this op has computed (E Z) W.
Status run(const ops::AddRowSums& op, Context& context, const Item& item) {
  const DeviceTensor& e = context.weights->matrix(op.e);
  float* const sums = reinterpret_cast<float*>(context.scratch(context.regions.sums));
  LINFORMER_TRY(with_element_type(e.type, [&]<class T>(T*) {
    const EachRow<RowSums<T>> kernel{{reinterpret_cast<const T*>(e.data), e.ld, item.n, sums}, item.rows};
    return context.stream->launch(kernel, kernel.grid());
  }));
  const Operand out = context.operand(op.out, item);
  for (int64_t i = 0; i < out.count; ++i) {
    const Operand c = out.matrix_at(i);
    LINFORMER_TRY(
        context.launch_each_element(AddScaledBias{c.floats(), c.ld, sums, context.floats(op.bias)}, c.rows, c.cols));
  }
  return {};
}

Status scale_by_length(Context& context, LengthScale scale, const View& e, int64_t n, const Operand& rows) {
  if (scale == LengthScale::none) return {};
  const DeviceTensor& stored = context.weights->matrix(e);
  float* const factors = reinterpret_cast<float*>(context.scratch(context.regions.sums));
  LINFORMER_TRY(with_element_type(stored.type, [&]<class T>(T*) {
    const EachRow<LengthFactors<T>> kernel{
        {reinterpret_cast<const T*>(stored.data), stored.ld, n, e.cols, scale == LengthScale::inverse_root,
         static_cast<float>(least_norm), factors},
        rows.rows};
    return context.stream->launch(kernel, kernel.grid());
  }));
  for (int64_t i = 0; i < rows.count; ++i) {
    const Operand c = rows.matrix_at(i);
    LINFORMER_TRY(context.launch_each_element(ScaleRow{c.floats(), c.ld, factors}, c.rows, c.cols));
  }
  return {};
}

Status run(const ops::ScaleByLength& op, Context& context, const Item& item) {
  return scale_by_length(context, op.scale, op.e, item.n, context.operand(op.out, item));
}

}  // namespace LINFORMER_NAMESPACE::cuda
