// Attention in one launch: a block for each tile of queries, head and sequence.
#include "cuda/executor.h"

namespace LINFORMER_NAMESPACE::cuda {

Status CudaExecutor::attend(const Op& op, const Item& item) {
  const Attention& attention = attention_of(item);
  const Source source = source_of(attention);
  const Operand context = operand(op.out, item), query = op.a.present() ? operand(op.a, item) : context;
  AttentionParameters p;
  p.query = query.floats();
  p.query_ld = query.ld;
  p.context = context.data;
  p.context_ld = context.ld;
  p.keys = device_as<float>(BufferId::keys);
  p.values = attention.value_is_key ? p.keys : device_as<float>(BufferId::values);
  p.key_ld = attention.key_ld;
  p.by_rows = attention.full;
  p.slot = attention.full ? attention.key_ld : program_.key_slot;
  const size_t index = static_cast<size_t>(item.stage.attention);
  p.heads = reinterpret_cast<const HeadKeys*>(scratch(scratch_.heads)) + first_head_[index];
  p.starts = device_as<int32_t>(BufferId::row_starts);
  p.sources = device_as<int32_t>(source.starts);
  if (batch_.has_masks) p.masks = device_as<uint8_t>(BufferId::masks);
  if (batch_.has_masks && attention.full && attention.excludes_masked) p.key_masks = device_as<uint8_t>(source.masks);
  if (attention.position_bias.present()) {
    p.bias_ld = device_weights_->vector(attention.position_bias).ld;
    p.position_bias = floats(attention.position_bias) + attention.position_bias.cols / 2;
  }
  p.window = attention.full ? attention.window : 0;
  p.d_head = static_cast<int>(attention.d_head);
  p.scale = attention.scale;
  p.causal = attention.causal;
  p.first_only = item.stage.domain == Domain::first_rows;
  const auto run = [&]<class Kernel>(Kernel kernel) {
    kernel.p = p;
    kernel.p.sequences = static_cast<int>(batch_.sequences);
    const int64_t blocks = p.first_only ? batch_.sequences : Kernel::blocks(batch_.rows, batch_.sequences);
    return stream_->launch(kernel, {blocks, attention.heads});
  };
  return typed(type_, [&]<class T>(T*) {
    if (attention.d_head <= 32) return run(AttentionKernel<T, 32>{});
    if (attention.d_head <= 64) return run(AttentionKernel<T, 64>{});
    if (attention.d_head <= 128) return run(AttentionKernel<T, 128>{});
    return run(AttentionKernel<T, 256>{});
  });
}

}  // namespace LINFORMER_NAMESPACE::cuda
