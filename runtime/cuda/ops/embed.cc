#include "cuda/ops/run.h"

namespace LINFORMER_NAMESPACE::cuda {
namespace {

// Writes the rows of a table that `indices` selects to `to`, multiplied by `scale`, or adds them if `adds`.
template <class Index>
Status table_rows(const View& to, const View& view, const Index* indices, float scale, bool adds, Context& context,
                  const Item& item) {
  const Operand out = context.operand(to, item);
  const DeviceTensor table = view.place == Place::weight
                                 ? context.weights->matrix(view)
                                 : DeviceTensor{context.device_buffer(view.buffer), ElementType::f32, 0, view.ld};
  return with_element_type(table.type, [&]<class T>(T*) {
    return context.launch_each_element(TableRow<T, Index>{out.floats(), out.ld, reinterpret_cast<const T*>(table.data),
                                                          table.ld, indices, scale, adds},
                                       out.rows, out.cols);
  });
}

}  // namespace

Status run(const ops::Gather& op, Context& context, const Item& item) {
  return table_rows(op.out, op.table, context.device_buffer_as<int32_t>(BufferId::ids), op.scale, false, context, item);
}

Status run(const ops::AddPosition& op, Context& context, const Item& item) {
  return table_rows(op.out, op.table, context.device_buffer_as<int32_t>(BufferId::positions), 1.f, true, context, item);
}

Status run(const ops::AddType& op, Context& context, const Item& item) {
  return table_rows(op.out, op.table, context.device_buffer_as<uint8_t>(BufferId::types), 1.f, true, context, item);
}

// Copies the caller's vectors. Rows that follow one another in the caller's memory are one copy.
Status run(const ops::ReadVectors& op, Context& context, const Item& item) {
  const Operand out = context.operand(op.out, item);
  const int64_t bytes = out.cols * int64_t{sizeof(float)}, step = out.ld * int64_t{sizeof(float)};
  LINFORMER_TRY(context.launch_each_element(Fill{out.floats(), out.ld, 0.f}, out.rows, out.cols));
  if (context.stream->in_dry_run()) return {};
  for (int64_t s = 0; s < context.batch.sequences; ++s) {
    const int64_t end = context.batch.row_starts[s + 1];
    for (int64_t row = context.batch.row_starts[s]; row < end;) {
      const int64_t first = row, vector = context.batch.ids[row];
      for (++row; row < end && vector >= 0 && context.batch.ids[row] == vector + (row - first);) ++row;
      if (vector < 0) continue;
      LINFORMER_TRY(context.stream->copy(out.data + first * step, step,
                                         context.batch.vectors(context.batch.inputs, s) + vector * out.cols, bytes,
                                         bytes, row - first));
    }
  }
  return {};
}

Status run(const ops::PutPrefix& op, Context& context, const Item& item) {
  const Operand out = context.operand(op.out, item);
  const Prefix prefix{out.floats(), out.ld, context.floats(op.prefix),
                      context.device_buffer_as<int32_t>(BufferId::ids)};
  return context.launch_each_element(prefix, out.rows, out.cols);
}

}  // namespace LINFORMER_NAMESPACE::cuda
