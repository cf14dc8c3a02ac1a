// The executor that runs a program on the caller's thread and on the session's other threads. README.md says how it
// splits the work.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "base/threads.h"
#include "cpu/context.h"
#include "cpu/items.h"
#include "linformer/version.h"
#include "program/executor.h"

namespace LINFORMER_NAMESPACE {

class CpuExecutor final : public Executor {
 public:
  // Creates an executor and declares every GEMM of the program to the provider. `weights` has the first byte of each
  // tensor. It is not copied and must stay valid and unchanged as long as the executor exists. If `profile` is true,
  // the executor measures the time of each op.
  static Result<std::unique_ptr<CpuExecutor>> create(Program program, BackendKind backend, const Kernels& kernels,
                                                     std::span<const std::byte* const> weights, bool profile,
                                                     const ParallelFor& callers = {});
  ~CpuExecutor() override;

  Status start(std::byte* arena) override;
  Status run(const Batch& batch, const Request& request) override;
  std::span<const OpProfile> profile() const override { return profile_; }

 private:
  using Part = cpu::Part;
  using Item = cpu::Item;
  static constexpr int all_threads = -1;
  // The least and the most rows that the sequences of one thread's part have together. With fewer rows the weights
  // would be read too often. The upper limit is two full blocks of rows. A part exceeds it if it needs a long sequence
  // to reach the lower limit.
  static constexpr int64_t least_part_rows = 128, full_part_rows = 256;

  CpuExecutor(Program program, const Kernels& kernels, std::span<const std::byte* const> weights)
      : Executor(std::move(program), weights), context_(program_, kernels, weights, layout_) {}

  // executor.cc
  Part part_of_sequences(int64_t first, int64_t end, int thread) const;
  bool splits_by_sequences(const Part& whole) const;
  Status run_parts(const Request& request, int64_t sequence_multiple);
  void report_progress(const Part& part);
  bool heads_score_same_kind(const Request& request, bool* pairs) const;
  Status run_encoder(const Part& part, const Request& request);
  Status run_section(const Section& section, const Part& part, const Destination& to);
  Status run_item(const Stage& stage, const cpu::StageSize& size, const Part& part, const Destination& to,
                  int64_t index, int thread);
  // execute.cc
  struct Columns {
    int64_t from, to;
  };
  int64_t smallest_share_columns(const Op& op) const;
  bool threads_share_products() const { return provider_->kind() == BackendKind::native; }
  int64_t share_count(const Op& op) const;
  Columns columns_of_share(const Op& op, int64_t share, int64_t shares) const;
  const void* next_weights(int32_t op, const Item& item) const;
  Status run_ops(const Item& item);
  Status run_op(int32_t index, Item item);
  Status run_ops_on_all_threads(const Item& item);
  void count_costs(const Section& section, const Part& part, const Destination& to);
  void collect_profile();
  // Calls task(thread) on the calling thread and on each other thread that wakes up before the work is done. If a call
  // fails, returns the error of the lowest thread index that failed.
  template <class Task>
  Status on_threads(Task&& task) {
    for (int thread = 0; thread < team_.size(); ++thread) errors_[thread] = Status();
    team_.run([&](int thread) {
      const int token = provider_->enter_thread();
      errors_[thread] = task(thread);
      provider_->leave_thread(token);
    });
    for (int thread = 0; thread < team_.size(); ++thread) {
      if (!errors_[thread].ok()) return errors_[thread];
    }
    return {};
  }
  // Calls task(index, thread) once for each index in [0, count), on any thread. A thread stops at its first error. If
  // tasks fail, returns the error of the lowest thread index that failed.
  template <class Task>
  Status parallel(int64_t count, Task&& task) {
    tasks_.reset(count, team_.size());
    return on_threads([&](int thread) -> Status {
      for (int64_t index; tasks_.next(thread, &index);) LINFORMER_TRY(task(index, thread));
      return {};
    });
  }

  cpu::Context context_;
  std::unique_ptr<GemmProvider> provider_;
  Array<int32_t> next_products_;  // By op: the index of the next op that multiplies by panels of a weight, or -1.
  ParallelFor callers_;
  ThreadTeam team_;
  std::unique_ptr<Status[]> errors_;  // One for each thread.
  TaskCounter tasks_;                 // The tasks of the parallel section in progress.
  Request request_;                   // The request of the call in progress.
  const void* caller_ = nullptr;      // The thread that made the call in progress, as this_thread() identifies it.
  std::atomic<int64_t> rows_done_{0};
  Array<OpProfile> profile_, thread_profiles_;
};

}  // namespace LINFORMER_NAMESPACE
