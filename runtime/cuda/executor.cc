#include "cuda/executor.h"

#include <algorithm>

#include "cuda/ops/norm.h"
#include "cuda/ops/outputs.h"
#include "cuda/ops/run.h"

namespace LINFORMER_NAMESPACE::cuda {

// Copies the batch, which the session has packed, to the device. Sets a mark behind the copies.
Status CudaExecutor::upload_batch(const Batch& batch) {
  const auto one = [&](BufferId id, int64_t bytes) {
    return context_.stream->copy(context_.device_buffer(id), 0, buffer<std::byte>(id), 0, bytes, 1);
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
  return context_.stream->mark();
}

Status CudaExecutor::run_ops(const Item& item) {
  // The lap that ends here has measured work that belongs to no op, such as the copies of the batch.
  if (!profile_.empty()) LINFORMER_TRY(context_.stream->end_lap(nullptr));
  for (int32_t i = item.stage.op_begin; i < item.stage.op_end; ++i) {
    bool fused = false;
    LINFORMER_TRY(run_op(i, item, &fused));
    if (!profile_.empty()) LINFORMER_TRY(context_.stream->end_lap(&profile_[static_cast<size_t>(i)].seconds));
    i += fused;
  }
  return {};
}

// Runs an op. Sets *fused if the next op, the conversion of a norm's result, was computed together with it.
Status CudaExecutor::run_op(int32_t index, const Item& item, bool* fused) {
  const Op& op = program_.ops[static_cast<size_t>(index)];
  const auto* normed = op.get<ops::Norm>();
  if (normed == nullptr) {
    return with_struct(op, [&](const auto& own) { return cuda::run(own, context_, item); });
  }
  const Op* next = index + 1 < item.stage.op_end ? &program_.ops[static_cast<size_t>(index) + 1] : nullptr;
  const auto* convert = next != nullptr ? next->get<ops::Convert>() : nullptr;
  const View& out = normed->out;
  *fused = convert != nullptr && convert->from.place == out.place && convert->from.buffer == out.buffer &&
           convert->from.offset == out.offset && convert->from.cols == out.cols;
  return norm(*normed, *fused ? convert : nullptr, context_, item);
}

// Returns whether the stage computes the same for sequences of any length, because it only multiplies compressed rows
// by weights.
bool CudaExecutor::ignores_length(const Stage& stage) const {
  if (stage.domain != Domain::compressed_rows) return false;
  for (int32_t i = stage.op_begin; i < stage.op_end; ++i) {
    const Op& op = program_.ops[static_cast<size_t>(i)];
    const auto* gemm = op.get<ops::Gemm>();
    if (!op.is<ops::Convert>() && (gemm == nullptr || gemm->multiplies_e())) return false;
  }
  return true;
}

// Runs a stage that computes keys and values. Consecutive sequences are one item if they have equal lengths or if their
// lengths make no difference. The rows of full attention's keys are stored in the order of the sequences, so the rows
// of all sequences are one item.
Status CudaExecutor::run_key_stage(const Stage& stage, const Destination& to) {
  const Source source = context_.key_source_of(stage.key_rows);
  Item item{stage, to};
  if (stage.whole_keys && stage.domain == Domain::source_rows) {
    item.n = item.rows = source.host_starts[context_.batch.sequences];
    item.whole_batch = true;
    return run_ops(item);
  }
  const bool any = ignores_length(stage);
  for (int64_t s = 0; s < context_.batch.sequences;) {
    const int64_t n = source.length(s);
    int64_t end = s + 1;
    while (end < context_.batch.sequences &&
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
      default:  // The columns of E Z are computed in one call.
        LINFORMER_TRY(run_ops(item));
    }
  }
  return {};
}

Status CudaExecutor::run_stage(const Stage& stage, const Destination& to) {
  Item item{stage, to};
  switch (stage.domain) {
    case Domain::row_blocks:
      item.rows = context_.batch.rows;
      return run_ops(item);
    case Domain::first_rows:
      item.rows = context_.batch.sequences;
      return run_ops(item);
    case Domain::scored:
      item.rows = stage.extent == 0 ? context_.batch.rows : context_.batch.sequences / stage.extent;
      LINFORMER_TRY(run_ops(item));
      return copy_logits_to_caller(context_, item);
    case Domain::sequences:
      return run_ops(item);
    case Domain::positions:
      for (const int64_t all = static_cast<int64_t>(to.positions.size()); item.row < all; item.row += item.rows) {
        item.rows = std::min({device_positions, all - item.row, program_.extents.block_rows});
        LINFORMER_TRY(run_ops(item));
        LINFORMER_TRY(copy_logits_to_caller(context_, item));
      }
      return {};
    default:
      return run_key_stage(stage, to);
  }
}

Status CudaExecutor::run_section(const Section& section, const Destination& to) {
  if (!profile_.empty() && !context_.stream->in_dry_run()) {
    count_costs(section, context_.batch, 0, context_.batch.sequences, static_cast<int64_t>(to.positions.size()),
                profile_.data());
  }
  for (int32_t i = section.begin; i < section.end; ++i) {
    LINFORMER_TRY(run_stage(program_.stages[static_cast<size_t>(i)], to));
  }
  return {};
}

Status CudaExecutor::run(const Batch& batch, const Request& request) {
  const Device::Current current(context_.weights->device());
  Status status = run_all(batch, request);
  if (status.ok() && !profile_.empty()) status = context_.stream->read_laps();
  const bool later = context_.options.device_outputs && context_.options.stream != nullptr;
  if (status.ok() && later) return {};
  // Waits after an error too, because work in the stream reads and writes the caller's memory.
  const Status waited = context_.stream->wait();
  return status.ok() ? waited : status;
}

Status CudaExecutor::run_all(const Batch& batch, const Request& request) {
  context_.batch = batch;
  LINFORMER_TRY(upload_batch(batch));
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
