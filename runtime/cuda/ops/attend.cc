// Attention in one launch: a block for each tile of queries, head and sequence.
#include "cuda/ops/run.h"

namespace LINFORMER_NAMESPACE::cuda {

Status run(const ops::Attend& op, Context& context, const Item& item) {
  const Attention& attention = context.attention_of(item);
  const Source source = context.source_of(attention);
  const Operand out = context.operand(op.out, item), query = op.query.present() ? context.operand(op.query, item) : out;
  AttentionParameters p;
  p.query = query.floats();
  p.query_ld = query.ld;
  p.context = out.data;
  p.context_ld = out.ld;
  p.keys = context.device_as<float>(BufferId::keys);
  p.values = attention.value_is_key ? p.keys : context.device_as<float>(BufferId::values);
  p.key_ld = attention.key_ld;
  p.by_rows = attention.full;
  p.slot = attention.full ? attention.key_ld : context.program.key_slot;
  const size_t index = static_cast<size_t>(item.stage.attention);
  p.heads = reinterpret_cast<const HeadKeys*>(context.scratch(context.regions.heads)) + context.first_head[index];
  p.starts = context.device_as<int32_t>(BufferId::row_starts);
  p.sources = context.device_as<int32_t>(source.starts);
  if (context.batch.has_masks) p.masks = context.device_as<uint8_t>(BufferId::masks);
  if (context.batch.has_masks && attention.full && attention.excludes_masked)
    p.key_masks = context.device_as<uint8_t>(source.masks);
  if (attention.position_bias.present()) {
    p.bias_ld = context.weights->vector(attention.position_bias).ld;
    p.position_bias = context.floats(attention.position_bias) + attention.position_bias.cols / 2;
  }
  p.window = attention.full ? attention.window : 0;
  p.d_head = static_cast<int>(attention.d_head);
  p.scale = attention.scale;
  p.causal = attention.causal;
  p.first_only = item.stage.domain == Domain::first_rows;
  const auto run = [&]<class Kernel>(Kernel kernel) {
    kernel.p = p;
    kernel.p.sequences = static_cast<int>(context.batch.sequences);
    const int64_t blocks =
        p.first_only ? context.batch.sequences : Kernel::blocks(context.batch.rows, context.batch.sequences);
    return context.stream->launch(kernel, {blocks, attention.heads});
  };
  return typed(context.type, [&]<class T>(T*) {
    if (attention.d_head <= 32) return run(AttentionKernel<T, 32>{});
    if (attention.d_head <= 64) return run(AttentionKernel<T, 64>{});
    if (attention.d_head <= 128) return run(AttentionKernel<T, 128>{});
    return run(AttentionKernel<T, 256>{});
  });
}

}  // namespace LINFORMER_NAMESPACE::cuda
