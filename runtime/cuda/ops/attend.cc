// Runs attention in one launch. For each sequence and each head there is a block for each tile of queries.
#include "cuda/ops/check.h"
#include "cuda/ops/run.h"

namespace LINFORMER_NAMESPACE::cuda {

Status check_supported(const ops::Attend& op) {
  constexpr int64_t widest_head = 256;
  if (op.heads > Grid::most_y) {
    return Status::error(Code::unsupported, "the op 'attend' has no kernel on a GPU for %lld heads: use the CPU",
                         static_cast<long long>(op.heads));
  }
  if (op.d_head <= widest_head) return {};
  return Status::error(Code::unsupported,
                       "the op 'attend' has no kernel on a GPU for heads of %lld columns, only up to %lld: use the CPU",
                       static_cast<long long>(op.d_head), static_cast<long long>(widest_head));
}

Status run(const ops::Attend& op, Context& context, const Item& item) {
  const Source source = context.key_source_of(item);
  const Operand out = context.operand(op.out, item), query = op.query.present() ? context.operand(op.query, item) : out;
  AttentionParameters p;
  p.query = query.floats();
  p.query_ld = query.ld;
  p.context = out.data;
  p.context_ld = out.ld;
  p.keys = context.device_buffer_as<float>(op.keys.buffer);
  p.values = context.device_buffer_as<float>(op.values.buffer);
  p.key_ld = op.keys.ld;
  p.by_rows = op.whole;
  p.slot = op.whole ? op.keys.ld : context.program.slot_elements(op.keys.buffer);
  p.groups = reinterpret_cast<const GroupKeys*>(context.scratch(context.regions.groups)) + op.groups.first;
  p.heads_in_group = op.groups.heads;
  p.starts = context.device_buffer_as<int32_t>(BufferId::row_starts);
  p.sources = context.device_buffer_as<int32_t>(source.starts);
  if (context.batch.has_masks) p.masks = context.device_buffer_as<uint8_t>(BufferId::masks);
  if (context.batch.has_masks && op.whole && op.excludes_masked) {
    p.key_masks = context.device_buffer_as<uint8_t>(source.masks);
  }
  if (op.position_bias.present()) {
    p.bias_ld = context.weights->vector(op.position_bias).ld;
    p.position_bias = context.floats(op.position_bias) + op.position_bias.cols / 2;
  }
  p.window = op.whole ? op.window : 0;
  if (op.beside > 0) {
    p.keys_beside = context.device_buffer_as<float>(op.keys_beside.buffer);
    p.values_beside = context.device_buffer_as<float>(op.values_beside.buffer);
    const RowsBeside& beside = context.program.group(op.groups, 0).projections[0].beside;
    p.beside = beside.k;
    p.exact_beside = beside.exact;
    p.span_beside = beside.span;
    p.beside_slot = context.program.slot_elements(op.keys_beside.buffer);
  }
  p.d_head = static_cast<int>(op.d_head);
  p.scale = op.scale;
  p.causal = op.causal;
  p.first_only = item.stage.domain == Domain::first_rows;
  const auto launch = [&]<class Kernel>(Kernel kernel) {
    kernel.p = p;
    kernel.p.sequences = static_cast<int>(context.batch.sequences);
    const int64_t blocks =
        p.first_only ? context.batch.sequences : Kernel::blocks(context.batch.rows, context.batch.sequences);
    return context.stream->launch(kernel, {blocks, op.heads});
  };
  return with_element_type(context.type, [&]<class T>(T*) {
    if (op.d_head <= 32) return launch(AttentionKernel<T, 32>{});
    if (op.d_head <= 64) return launch(AttentionKernel<T, 64>{});
    if (op.d_head <= 128) return launch(AttentionKernel<T, 128>{});
    return launch(AttentionKernel<T, 256>{});
  });
}

}  // namespace LINFORMER_NAMESPACE::cuda
