// Each op of an item, in order, and where its operands lie.
#include <algorithm>

#include "base/checked.h"
#include "base/clock.h"
#include "cpu/executor.h"

namespace LINFORMER_NAMESPACE {
namespace {

// Of a thread's part of a product: fewer are not worth waiting for one another.
constexpr int64_t least_shared_panels = 6;

}  // namespace

Status CpuExecutor::run_op(int32_t index, const Item& item) {
  const Op& op = program_.ops[static_cast<size_t>(index)];
  if (profile_.empty()) return execute(op, item);
  const double begin = seconds_now();
  LINFORMER_TRY(execute(op, item));
  thread_profiles_[static_cast<size_t>(item.worker) * program_.ops.size() + static_cast<size_t>(index)].seconds +=
      seconds_now() - begin;
  return {};
}

Status CpuExecutor::run_ops(const Item& item) {
  for (int32_t i = item.stage.op_begin; i < item.stage.op_end; ++i) LINFORMER_TRY(run_op(i, item));
  return {};
}

// Columns of an op's result that stay together where threads share it, panels of a weight or a head; 0: it isn't
// shared.
int64_t CpuExecutor::shared_unit(const Op& op, const Item& item) const {
  if (op.kind == OpKind::attend) return attention_of(item).d_head;
  return op.kind == OpKind::gemm && op.b.place == Place::weight ? panel_width : 0;
}

// How many threads share an op; below 2 the first has all of it.
int64_t CpuExecutor::shares_of(const Op& op, const Item& item) const {
  const int64_t unit = shared_unit(op, item), least = op.kind == OpKind::gemm ? least_shared_panels : 1;
  return unit == 0 ? 0 : std::min<int64_t>(team_.size(), ceil_div(op.out.cols, unit) / least);
}

CpuExecutor::Columns CpuExecutor::columns_of(const Op& op, const Item& item, int64_t share, int64_t shares) const {
  const int64_t unit = shared_unit(op, item), units = ceil_div(op.out.cols, unit);
  return {units * share / shares * unit, std::min(units * (share + 1) / shares * unit, op.out.cols)};
}

// All threads on one item: products by columns, attention by heads, the rest on this thread.
Status CpuExecutor::share_ops(const Item& item) {
  for (int32_t i = item.stage.op_begin; i < item.stage.op_end; ++i) {
    const Op& op = program_.ops[static_cast<size_t>(i)];
    const int64_t shares = shares_of(op, item);
    if (shares < 2) {
      LINFORMER_TRY(run_op(i, item));
      continue;
    }
    LINFORMER_TRY(parallel(shares, [&](int64_t share, int thread) {
      const Columns columns = columns_of(op, item, share, shares);
      Item part = item;
      part.worker = thread;
      part.from = columns.from;
      part.to = columns.to;
      part.shares = true;
      return run_op(i, part);
    }));
  }
  return {};
}

// What this thread will most likely multiply with after `op`; only prefetched, so a stage that the sequence is too long
// or too short for does no harm.
const void* CpuExecutor::next_weights(const Op& op, const Item& item) const {
  const int32_t index = next_products_[static_cast<size_t>(&op - program_.ops.data())];
  if (index < 0) return nullptr;
  const Op& next = program_.ops[static_cast<size_t>(index)];
  const RightMatrix b = right(next);
  const int64_t shares = item.shares ? shares_of(next, item) : 0;
  if (shares < 2) return b.data;
  const int64_t own = std::min(TaskCounter::first_of(item.worker, shares, team_.size()), shares - 1);
  return b.part(0, b.k, columns_of(next, item, own, shares).from, panel_width).data;
}

// What a section costs for the sequences of a part.
void CpuExecutor::count_costs(const Section& section, const Part& part, const Destination& to) {
  OpProfile* profile = thread_profiles_.data() + static_cast<size_t>(std::max(part.thread, 0)) * program_.ops.size();
  Executor::count_costs(section, batch_, part.first, part.sequences, static_cast<int64_t>(to.positions.size()),
                        profile);
}

void CpuExecutor::collect_profile() {
  for (size_t i = 0; i < thread_profiles_.size(); ++i) {
    OpProfile& sum = profile_[i % profile_.size()];
    sum.seconds += thread_profiles_[i].seconds;
    sum.flop += thread_profiles_[i].flop;
    sum.bytes += thread_profiles_[i].bytes;
    thread_profiles_[i] = {};
  }
}

Status CpuExecutor::execute(const Op& op, const Item& item) {
  switch (op.kind) {
    case OpKind::gather:
      return gather(op, item), Status();
    case OpKind::add_position:
      return add_position(op, item), Status();
    case OpKind::add_type:
      return add_type(op, item), Status();
    case OpKind::read_vectors:
      return read_vectors(op, item), Status();
    case OpKind::put_prefix:
      return put_prefix(op, item), Status();
    case OpKind::zero:
      return zero(op, item), Status();
    case OpKind::copy:
      return copy(op, item), Status();
    case OpKind::convert:
      return convert(op, item), Status();
    case OpKind::add:
      return add(op, item), Status();
    case OpKind::norm:
      return norm(op, item), Status();
    case OpKind::gemm:
      return gemm(op, item);
    case OpKind::add_row_sums:
      return add_row_sums(op, item), Status();
    case OpKind::scale_by_length:
      return scale_by_length(op, item), Status();
    case OpKind::activate:
      return activate(op, item), Status();
    case OpKind::gate:
      return gate(op, item), Status();
    case OpKind::rotate:
      return rotate(op, item), Status();
    case OpKind::compress:
      return compress(op, item);
    case OpKind::pack:
      return pack(item), Status();
    case OpKind::pack_rows:
      return pack_rows(item), Status();
    case OpKind::pack_block:
      return pack_block(op, item), Status();
    case OpKind::attend:
      return attend(op, item);
    case OpKind::select:
      return select(op, item), Status();
    case OpKind::pool:
      return pool(op, item), Status();
    case OpKind::pair:
      return pair(op, item), Status();
    case OpKind::expand:
      return expand(op, item), Status();
    case OpKind::probabilities:
      return probabilities(op, item), Status();
    case OpKind::normalize_length:
      return normalize_length(op, item), Status();
  }
  return Status();
}

// Where a view's first row of the item lies.
float* CpuExecutor::address(const View& view, const Item& item) const {
  switch (view.place) {
    case Place::none:
      return nullptr;
    case Place::weight:
      return const_cast<float*>(reinterpret_cast<const float*>(tensor(view)) + view.offset) + item.row * view.ld;
    case Place::rows:
    case Place::scored:
      return buffer(view.buffer) + item.row * view.ld + view.offset;
    case Place::source: {
      const Source source = source_of(attention_of(item));
      return const_cast<float*>(source.rows) + (source.starts[item.sequence] + item.row) * source.ld;
    }
    case Place::sequence: {
      const bool is_key = view.buffer == BufferId::keys || view.buffer == BufferId::values;
      const Attention& attention = attention_of(item);
      if (attention.full) {
        return buffer(view.buffer) + source_of(attention).panel_start(item.sequence) * program_.full_width +
               item.row * view.ld;
      }
      return buffer(view.buffer) + item.sequence * (is_key ? program_.key_slot : program_.compressed_slot) +
             view.offset + item.row * view.ld;
    }
    case Place::block:
      return block_buffer(view.buffer, item.thread) + view.offset;
    case Place::table:
      return buffer(view.buffer) + view.offset;
    case Place::output:
      return item.call.values + item.row * view.ld;
  }
  return nullptr;
}

}  // namespace LINFORMER_NAMESPACE
