// Each op of an item, in order.
#include <algorithm>

#include "base/checked.h"
#include "base/clock.h"
#include "cpu/executor.h"
#include "cpu/ops/run.h"

namespace LINFORMER_NAMESPACE {
namespace {

// Of a thread's part of a product: fewer are not worth waiting for one another.
constexpr int64_t least_shared_panels = 6;

}  // namespace

Status CpuExecutor::run_op(int32_t index, Item item) {
  item.op = index;
  item.next_weights = next_weights(index, item);
  const auto run = [&] {
    return with_struct(program_.ops[static_cast<size_t>(index)],
                       [&](const auto& op) { return cpu::run(op, context_, item); });
  };
  if (profile_.empty()) return run();
  const double begin = seconds_now();
  LINFORMER_TRY(run());
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
int64_t CpuExecutor::shared_unit(const Op& op) const {
  if (const auto* attend = op.get<ops::Attend>()) return attend->d_head;
  const auto* gemm = op.get<ops::Gemm>();
  return gemm != nullptr && !gemm->multiplies_e() ? panel_width : 0;
}

// How many threads share an op; below 2 the first has all of it.
int64_t CpuExecutor::shares_of(const Op& op) const {
  const int64_t unit = shared_unit(op), least = op.is<ops::Gemm>() ? least_shared_panels : 1;
  return unit == 0 ? 0 : std::min<int64_t>(team_.size(), ceil_div(op.out().cols, unit) / least);
}

CpuExecutor::Columns CpuExecutor::columns_of(const Op& op, int64_t share, int64_t shares) const {
  const int64_t unit = shared_unit(op), units = ceil_div(op.out().cols, unit);
  return {units * share / shares * unit, std::min(units * (share + 1) / shares * unit, op.out().cols)};
}

// All threads on one item: products by columns, attention by heads, the rest on this thread.
Status CpuExecutor::share_ops(const Item& item) {
  for (int32_t i = item.stage.op_begin; i < item.stage.op_end; ++i) {
    const Op& op = program_.ops[static_cast<size_t>(i)];
    const int64_t shares = shares_of(op);
    if (shares < 2) {
      LINFORMER_TRY(run_op(i, item));
      continue;
    }
    LINFORMER_TRY(parallel(shares, [&](int64_t share, int thread) {
      const Columns columns = columns_of(op, share, shares);
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

// What this thread will most likely multiply with after a product; only prefetched, so a stage that the sequence is too
// long or too short for does no harm.
const void* CpuExecutor::next_weights(int32_t op, const Item& item) const {
  const int32_t index = next_products_[static_cast<size_t>(op)];
  if (index < 0 || !program_.ops[static_cast<size_t>(op)].is<ops::Gemm>()) return nullptr;
  const Op& next = program_.ops[static_cast<size_t>(index)];
  const RightMatrix& b = context_.rights[static_cast<size_t>(index)];
  const int64_t shares = item.shares ? shares_of(next) : 0;
  if (shares < 2) return b.data;
  const int64_t own = std::min(TaskCounter::first_of(item.worker, shares, team_.size()), shares - 1);
  return b.part(0, b.k, columns_of(next, own, shares).from, panel_width).data;
}

// What a section costs for the sequences of a part.
void CpuExecutor::count_costs(const Section& section, const Part& part, const Destination& to) {
  OpProfile* profile = thread_profiles_.data() + static_cast<size_t>(std::max(part.thread, 0)) * program_.ops.size();
  Executor::count_costs(section, context_.batch, part.first, part.sequences, static_cast<int64_t>(to.positions.size()),
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

}  // namespace LINFORMER_NAMESPACE
