#include "cuda/ops/run.h"

namespace LINFORMER_NAMESPACE::cuda {

Status run(const ops::Rotate& op, Context& context, const Item& item) {
  const Operand out = context.operand(op.out, item);
  const bool packed = item.stage.domain == Domain::row_blocks || item.whole_batch;
  for (int64_t i = 0; i < out.count; ++i) {
    const Operand x = out.matrix_at(i);
    Rotate rotate{x.floats(), x.ld, context.operand(op.table, item).floats(), nullptr, op.table.cols, 0};
    if (packed) {
      const BufferId starts = item.whole_batch ? context.key_source_of(item).starts : BufferId::row_starts;
      rotate.starts = context.device_buffer_as<int32_t>(starts);
      rotate.sequences = static_cast<int32_t>(context.batch.sequences);
    }
    LINFORMER_TRY(context.launch_each_element(rotate, x.rows, x.cols / 2));
  }
  return {};
}

}  // namespace LINFORMER_NAMESPACE::cuda
