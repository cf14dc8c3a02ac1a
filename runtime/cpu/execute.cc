// Runs the ops of an item in order, on one thread or shared by all threads.
#include <algorithm>

#include "base/checked.h"
#include "base/clock.h"
#include "cpu/executor.h"
#include "cpu/ops/run.h"

namespace LINFORMER_NAMESPACE {
namespace {

// The fewest panels that each thread must get for a product to be shared. With fewer, waiting for the other threads
// costs more than sharing gains.
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

// Returns the number of columns in the smallest portion of an op's result that a thread can take: a panel of a weight
// or the columns of a head. Returns 0 if threads can't share the op.
int64_t CpuExecutor::smallest_share_columns(const Op& op) const {
  if (const auto* attend = op.get<ops::Attend>()) return attend->d_head;
  const auto* gemm = op.get<ops::Gemm>();
  return gemm != nullptr && !gemm->multiplies_e() ? panel_width : 0;
}

// Returns how many threads share an op. If it is less than 2, one thread runs the whole op.
int64_t CpuExecutor::share_count(const Op& op) const {
  const int64_t unit = smallest_share_columns(op), least = op.is<ops::Gemm>() ? least_shared_panels : 1;
  return unit == 0 ? 0 : std::min<int64_t>(team_.size(), ceil_div(op.out().cols, unit) / least);
}

CpuExecutor::Columns CpuExecutor::columns_of_share(const Op& op, int64_t share, int64_t shares) const {
  const int64_t unit = smallest_share_columns(op), units = ceil_div(op.out().cols, unit);
  return {units * share / shares * unit, std::min(units * (share + 1) / shares * unit, op.out().cols)};
}

// Runs the ops of one item with all threads. They share products by columns and attention by heads. The calling thread
// runs all other ops alone.
Status CpuExecutor::run_ops_on_all_threads(const Item& item) {
  for (int32_t i = item.stage.op_begin; i < item.stage.op_end; ++i) {
    const Op& op = program_.ops[static_cast<size_t>(i)];
    const int64_t shares = share_count(op);
    if (shares < 2) {
      LINFORMER_TRY(run_op(i, item));
      continue;
    }
    LINFORMER_TRY(parallel(shares, [&](int64_t share, int thread) {
      const Columns columns = columns_of_share(op, share, shares);
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

// Returns the weights that this thread will probably multiply by after the product `op`, or null if none are known.
// They are only prefetched, so a wrong guess changes no result: the next product may belong to a stage that doesn't run
// for sequences of this length.
const void* CpuExecutor::next_weights(int32_t op, const Item& item) const {
  const int32_t index = next_products_[static_cast<size_t>(op)];
  if (index < 0 || !program_.ops[static_cast<size_t>(op)].is<ops::Gemm>()) return nullptr;
  const Op& next = program_.ops[static_cast<size_t>(index)];
  const RightMatrix& b = context_.rights[static_cast<size_t>(index)];
  const int64_t shares = item.shares ? share_count(next) : 0;
  if (shares < 2) return b.data;
  const int64_t own = std::min(TaskCounter::first_task(item.worker, shares, team_.size()), shares - 1);
  return b.part(0, b.k, columns_of_share(next, own, shares).from, panel_width).data;
}

// Adds the FLOPs and bytes of a section, for the sequences of a part, to the profile of the thread that runs it.
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
