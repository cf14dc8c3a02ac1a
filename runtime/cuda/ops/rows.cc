#include "cuda/rows.h"

#include "cuda/ops/run.h"
#include "cuda/products.h"

namespace LINFORMER_NAMESPACE::cuda {

Status run(const ops::Zero& op, Context& context, const Item& item) {
  if (op.which == ZeroRows::masked && !context.batch.has_masks) return {};
  const Operand out = context.operand(op.out, item);
  const bool of_source = item.stage.domain == Domain::source_rows;
  const uint8_t* masks = context.device_buffer_as<uint8_t>(BufferId::masks);
  if (of_source) {
    const Source source = context.key_source_of(item);
    masks = context.device_buffer_as<uint8_t>(source.masks) + source.host_starts[item.sequence];
  }
  for (int64_t i = 0; i < out.count; ++i) {
    const Operand x = out.matrix_at(i);
    Zero zero{x.floats(), x.ld, nullptr, nullptr, 0, mask_row, nullptr};
    if (item.stage.domain == Domain::first_rows) zero.starts = context.device_buffer_as<int32_t>(BufferId::row_starts);
    if (op.which == ZeroRows::pads) {
      zero.ids = context.device_buffer_as<int32_t>(BufferId::ids);
      zero.id = context.program.pad_id;
    }
    if (op.which == ZeroRows::masked) zero.masks = masks + i * item.n;
    LINFORMER_TRY(context.launch_each_element(zero, x.rows, x.cols));
  }
  return {};
}

Status run(const ops::Copy& op, Context& context, const Item& item) {
  return copy_converted(context, context.operand(op.from, item), context.operand(op.out, item));
}

Status run(const ops::Convert& op, Context& context, const Item& item) {
  return copy_converted(context, context.operand(op.from, item), context.operand(op.out, item));
}

Status run(const ops::Add& op, Context& context, const Item& item) {
  const Operand from = context.operand(op.from, item), out = context.operand(op.out, item);
  return with_element_type(from.type, [&]<class T>(T*) {
    return context.launch_each_element(Add<T>{out.floats(), out.ld, reinterpret_cast<const T*>(from.data), from.ld},
                                       out.rows, out.cols);
  });
}

}  // namespace LINFORMER_NAMESPACE::cuda
