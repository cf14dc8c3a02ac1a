// Products whose right operand is a weight, and the products E Z and E (Z W), whose left operand is the weight E.
#include "cuda/ops/check.h"
#include "cuda/ops/run.h"
#include "cuda/products.h"

namespace LINFORMER_NAMESPACE::cuda {

Status check_supported(const ops::Gemm& op) {
  if (op.first_k != 0 || op.first_n != 0) {
    return Status::error(Code::internal, "the op 'gemm' with a part of a weight has no kernel on a GPU");
  }
  if (!op.residual.present() || op.activation == Activation::none) return {};
  return Status::error(Code::unsupported,
                       "the op 'gemm' with an activation before a residual has no kernel on a GPU: use the CPU");
}

Status run(const ops::Gemm& op, Context& context, const Item& item) {
  const Operand out = context.operand(op.out, item);
  const float *bias = context.floats(op.bias), *row_bias = context.floats(op.row_bias);
  if (op.multiplies_e()) {
    // E times the rows of a sequence. All rows of E are multiplied, also those that attention to a short sequence
    // doesn't use, because each number of rows of E would need its own choice of an algorithm.
    Operand rows = context.operand(op.b, item), made = out;
    rows.rows = item.n;
    if (item.stage.domain == Domain::source_columns) rows.cols = item.stage.extent;
    Result<Operand> narrow = narrowed(context, rows);
    if (!narrow.ok()) return narrow.status();
    made.rows = op.a.rows;
    LINFORMER_TRY(multiply_e(context, context.weights->matrix(op.a), op.a.rows, *narrow, made));
    return finish(context, made, bias, row_bias, op.activation);
  }
  const DeviceTensor& weight = context.weights->matrix(op.b);
  const Operand b{weight.data, weight.type, weight.rows, op.b.cols, weight.ld};
  // If the rows of all sequences follow one another, a single product computes them.
  Operand a = context.operand(op.a, item), c = out;
  if (c.forms_one_matrix() && a.forms_one_matrix()) {
    a = a.as_one_matrix();
    c = c.as_one_matrix();
  }
  bool adds = op.accumulate;
  if (op.residual.present()) {
    const Operand residual = context.operand(op.residual, item);
    if (residual.data != c.data) {
      LINFORMER_TRY(copy_converted(context, residual, c));
    }
    adds = true;
  }
  // cuBLASLt adds the bias, except to a single column, which versions before 12 are reported to do wrongly.
  const bool adds_bias =
      bias != nullptr && row_bias == nullptr && c.type == ElementType::f32 && c.cols > 1 && aligned(bias);
  // There are far fewer compressed rows than other rows, and another algorithm is faster for them.
  const bool compressed = item.stage.domain == Domain::compressed_rows;
  const int64_t usual_rows = compressed ? item.stage.extent * context.program.extents.sequences : 0;
  for (int64_t i = 0; i < a.count; ++i) {
    LINFORMER_TRY(
        product(context, a.matrix_at(i), b, true, c.matrix_at(i), adds, adds_bias ? bias : nullptr, usual_rows));
  }
  return finish(context, out, adds_bias ? nullptr : bias, row_bias, op.activation);
}

}  // namespace LINFORMER_NAMESPACE::cuda
