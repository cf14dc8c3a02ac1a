#include "cuda/executor.h"

#include <algorithm>

namespace LINFORMER_NAMESPACE::cuda {

// What the session packed: everything before the tables.
Status CudaExecutor::send(const Batch& batch) {
  const auto one = [&](BufferId id, int64_t bytes) {
    return stream_->copy(device_buffer(id), 0, buffer<std::byte>(id), 0, bytes, 1);
  };
  LINFORMER_TRY(one(BufferId::row_starts, static_cast<int64_t>(layout_.bytes[static_cast<int>(BufferId::row_starts)])));
  LINFORMER_TRY(one(BufferId::ids, 4 * batch.rows));
  LINFORMER_TRY(one(BufferId::positions, 4 * batch.rows));
  LINFORMER_TRY(one(BufferId::masks, batch.rows));
  if (batch.types != nullptr) LINFORMER_TRY(one(BufferId::types, batch.rows));
  if (batch.has_states) {
    const int64_t states = batch.state_starts[batch.sequences];
    LINFORMER_TRY(one(BufferId::state_starts, 4 * (batch.sequences + 1)));
    LINFORMER_TRY(one(BufferId::state_masks, states));
    LINFORMER_TRY(one(BufferId::encoder_states, 4 * states * program_.states_width));
  }
  return stream_->mark();
}

CudaExecutor::Source CudaExecutor::source_of(const Attention& attention) const {
  const KeySource from = attention.key_source;
  if (from == KeySource::encoder_states || (from == KeySource::encoder_states_or_own && batch_.has_states)) {
    return {device_buffer(BufferId::encoder_states), program_.states_width, BufferId::state_starts,
            BufferId::state_masks, batch_.state_starts};
  }
  return {device_buffer(attention.own.buffer), attention.own.ld, BufferId::row_starts, BufferId::masks,
          batch_.row_starts};
}

CudaExecutor::Operand CudaExecutor::operand(const View& view, const Item& item) const {
  Operand x;
  x.type = view.type;
  x.rows = item.rows;
  x.cols = view.cols;
  x.ld = view.ld;
  x.count = item.count;
  switch (view.place) {
    case Place::none:
    case Place::weight:
      break;
    case Place::rows:
    case Place::scored:
      x.data = device_buffer(view.buffer) + (item.row * view.ld + view.offset) * element_bytes(view.type);
      break;
    case Place::source: {
      const Source source = source_of(attention_of(item));
      x.ld = source.ld;
      x.step = item.n * source.ld;
      x.data = source.rows + source.host_starts[item.sequence] * source.ld * int64_t{sizeof(float)};
      break;
    }
    case Place::sequence: {
      const bool is_key = view.buffer == BufferId::keys || view.buffer == BufferId::values;
      const Attention& attention = attention_of(item);
      x.step = is_key ? program_.key_slot : program_.compressed_slot;
      int64_t first = item.sequence * x.step;
      if (attention.full) {
        x.step = item.n * view.ld;
        first = int64_t{source_of(attention).host_starts[item.sequence]} * view.ld;
      }
      x.data = device_buffer(view.buffer) + (first + view.offset) * int64_t{sizeof(float)};
      break;
    }
    case Place::block:
      x.step = item.rows * view.ld;
      x.data = device_buffer(view.buffer) + view.offset * element_bytes(view.type);
      break;
    case Place::table:
      x.data = device_buffer(view.buffer) + view.offset * int64_t{sizeof(float)};
      break;
    case Place::output:
      x.data = scratch(scratch_.outputs);
      break;
  }
  return x;
}

const float* CudaExecutor::floats(const View& view) const {
  if (!view.present()) return nullptr;
  return reinterpret_cast<const float*>(device_weights_->vector(view).data) + view.offset;
}

Status CudaExecutor::run_ops(const Item& item) {
  if (!profile_.empty()) LINFORMER_TRY(stream_->lap(nullptr));  // copies of a call
  for (int32_t i = item.stage.op_begin; i < item.stage.op_end; ++i) {
    bool fused = false;
    LINFORMER_TRY(run_op(i, item, &fused));
    if (!profile_.empty()) LINFORMER_TRY(stream_->lap(&profile_[static_cast<size_t>(i)].seconds));
    i += fused;
  }
  return {};
}

// `fused`: the next op was done with it.
Status CudaExecutor::run_op(int32_t index, const Item& item, bool* fused) {
  const Op& op = program_.ops[static_cast<size_t>(index)];
  if (op.kind != OpKind::norm) return execute(op, item);
  const Op* next = index + 1 < item.stage.op_end ? &program_.ops[static_cast<size_t>(index) + 1] : nullptr;
  *fused = next != nullptr && next->kind == OpKind::convert && next->a.place == op.out.place &&
           next->a.buffer == op.out.buffer && next->a.offset == op.out.offset && next->a.cols == op.out.cols;
  return norm(op, item, *fused ? next : nullptr);
}

// Whether the stage's ops are the same for sequences of any length: products of their compressed rows and weights.
bool CudaExecutor::takes_any_length(const Stage& stage) const {
  if (stage.domain != Domain::compressed_rows) return false;
  for (int32_t i = stage.op_begin; i < stage.op_end; ++i) {
    const Op& op = program_.ops[static_cast<size_t>(i)];
    if (op.kind != OpKind::convert && (op.kind != OpKind::gemm || op.b.place != Place::weight)) return false;
  }
  return true;
}

// Sequences that follow one another are one item where they have equal lengths, or where these make no difference. The
// rows of full attention's keys lie as their sequences do, so all of them are one.
Status CudaExecutor::run_key_stage(const Stage& stage, const Destination& to) {
  const Attention& attention = program_.attentions[static_cast<size_t>(stage.attention)];
  const Source source = source_of(attention);
  Item item{stage, to};
  if (attention.full && stage.domain == Domain::source_rows) {
    item.n = item.rows = source.host_starts[batch_.sequences];
    item.whole_batch = true;
    return run_ops(item);
  }
  const bool any = takes_any_length(stage);
  for (int64_t s = 0; s < batch_.sequences;) {
    const int64_t n = source.length(s);
    int64_t end = s + 1;
    while (end < batch_.sequences &&
           (any ? stage.lengths.has(source.length(end)) == stage.lengths.has(n) : source.length(end) == n))
      ++end;
    item.sequence = s;
    item.count = end - s;
    item.n = n;
    s = end;
    if (!stage.lengths.has(n)) continue;
    switch (stage.domain) {
      case Domain::source_rows:
        item.rows = n;
        LINFORMER_TRY(run_ops(item));
        break;
      case Domain::key_heads:
        for (item.group = 0; item.group < stage.extent; ++item.group) LINFORMER_TRY(run_ops(item));
        break;
      case Domain::compressed_rows:
        item.rows = stage.extent;
        LINFORMER_TRY(run_ops(item));
        break;
      default:  // columns of E Z, all at once
        LINFORMER_TRY(run_ops(item));
    }
  }
  return {};
}

Status CudaExecutor::run_stage(const Stage& stage, const Destination& to) {
  Item item{stage, to};
  switch (stage.domain) {
    case Domain::row_blocks:
      item.rows = batch_.rows;
      return run_ops(item);
    case Domain::first_rows:
      item.rows = batch_.sequences;
      return run_ops(item);
    case Domain::scored:
      item.rows = stage.extent == 0 ? batch_.rows : batch_.sequences / stage.extent;
      LINFORMER_TRY(run_ops(item));
      return give(item);
    case Domain::sequences:
      return run_ops(item);
    case Domain::positions:
      for (const int64_t all = static_cast<int64_t>(to.positions.size()); item.row < all; item.row += item.rows) {
        item.rows = std::min({device_positions, all - item.row, program_.extents.block_rows});
        LINFORMER_TRY(run_ops(item));
        LINFORMER_TRY(give(item));
      }
      return {};
    default:
      return run_key_stage(stage, to);
  }
}

Status CudaExecutor::run_section(const Section& section, const Destination& to) {
  if (!profile_.empty() && !stream_->rehearses()) {
    count_costs(section, batch_, 0, batch_.sequences, static_cast<int64_t>(to.positions.size()), profile_.data());
  }
  for (int32_t i = section.begin; i < section.end; ++i) {
    LINFORMER_TRY(run_stage(program_.stages[static_cast<size_t>(i)], to));
  }
  return {};
}

Status CudaExecutor::run(const Batch& batch, const Request& request) {
  const Device::Current current(device_weights_->device());
  Status status = run_all(batch, request);
  if (status.ok() && !profile_.empty()) status = stream_->read_laps();
  const bool later = options_.device_outputs && options_.stream != nullptr;
  if (status.ok() && later) return {};
  const Status waited = stream_->wait();  // after an error too: what is under way reads and writes the caller's memory
  return status.ok() ? waited : status;
}

Status CudaExecutor::run_all(const Batch& batch, const Request& request) {
  batch_ = batch;
  LINFORMER_TRY(send(batch));
  const auto run = [&](const Section& section, const Destination& to) -> Status {
    if (request.is_cancelled()) return Status::error(Code::cancelled, "the call was cancelled");
    return run_section(section, to);
  };
  size_t layers = 0;
  LINFORMER_TRY(run_encoder_sections(request, run, [&] {
    if (request.progress == nullptr) return;
    request.progress(request.progress_context,
                     static_cast<double>(++layers) / static_cast<double>(program_.layers.size() + 1));
  }));
  LINFORMER_TRY(run_masked_lm_sections(request, run));
  if (request.progress != nullptr) request.progress(request.progress_context, 1);
  return {};
}

}  // namespace LINFORMER_NAMESPACE::cuda
