// Runs a program on the caller's thread and those that it was given. README.md says how it splits the work.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "base/threads.h"
#include "cpu/declare.h"
#include "linformer/version.h"
#include "program/executor.h"

namespace LINFORMER_NAMESPACE {

class CpuExecutor final : public Executor {
 public:
  // Prepares every GEMM of the program. `weights`: the bytes of each tensor, valid while this lives.
  static Result<std::unique_ptr<CpuExecutor>> create(Program program, BackendKind backend, const Kernels& kernels,
                                                     std::span<const std::byte* const> weights, bool profile,
                                                     const ParallelFor& callers = {});
  ~CpuExecutor() override;

  Status start(std::byte* arena) override;
  Status run(const Batch& batch, const Request& request) override;
  std::span<const OpProfile> profile() const override { return profile_; }

 private:
  // Sequences next to one another, and who works on them.
  struct Part {
    int64_t first = 0, sequences = 0;
    int64_t row = 0, rows = 0;
    int64_t shortest = 0, longest = 0;  // sequence
    int64_t shortest_states = 0, longest_states = 0;
    int thread = all_threads;
  };
  static constexpr int all_threads = -1;
  // Rows that sequences of a part have together: at least, fewer would read the weights too often; at most (but for
  // long sequences), two full blocks.
  static constexpr int64_t least_part_rows = 128, full_part_rows = 256;
  // Up to as many rows threads share each product by its columns: it is bound by reading the weight, which each thread
  // would otherwise read whole. 24 rows in base size: f32 15 to 10 ms, int8 4.1 to 3.8 (two threads, Zen 5).
  static constexpr int64_t shared_rows = 24;

  // What an op works on.
  struct Item {
    const Stage& stage;
    const Part& part;
    const Destination& call;
    int thread = 0;
    int64_t sequence = 0;
    int64_t row = 0, rows = 0;        // of the batch (row_blocks, scored), or of the sequence
    int64_t column = 0, columns = 0;  // source_columns
    int64_t group = 0;                // key_heads
    // Where several threads share an op: the one whose scratch is used, and the columns of `out` that it makes.
    int worker = thread;
    int64_t from = 0, to = 0;  // 0, 0: all
    bool shares = false;       // threads share this op, and the ops that follow it
  };

  // The rows that a layer's keys and values are made of.
  struct Source {
    const float* rows = nullptr;
    int64_t ld = 0;
    const int32_t* starts = nullptr;
    const uint8_t* masks = nullptr;
    int64_t length(int64_t sequence) const { return starts[sequence + 1] - starts[sequence]; }
    // Of full attention's storage: a multiple of the panel width, and no two sequences overlap.
    int64_t panel_start(int64_t sequence) const {
      return (starts[sequence] + (panel_width - 1) * sequence + panel_width - 1) / panel_width * panel_width;
    }
  };

  struct StageSize {
    int64_t items = 0, steps = 1, step = 0;
    bool shares = false;
  };

  CpuExecutor(Program program, const Kernels& kernels, std::span<const std::byte* const> weights)
      : Executor(std::move(program), weights), kernels_(kernels) {}

  // executor.cc
  Part part_of(int64_t first, int64_t end, int thread) const;
  bool splits_by_sequences(const Part& whole) const;
  Status run_parts(const Request& request, int64_t multiple);
  void report_progress(const Part& part);
  bool heads_are_alike(const Request& request, bool* pairs) const;
  Status run_encoder(const Part& part, const Request& request);
  Status run_section(const Section& section, const Part& part, const Destination& to);
  StageSize size_of(const Stage& stage, const Part& part, const Destination& to, int64_t joined) const;
  Status run_item(const Stage& stage, const StageSize& size, const Part& part, const Destination& to, int64_t index,
                  int thread);
  // execute.cc
  struct Columns {
    int64_t from, to;
  };
  int64_t shared_unit(const Op& op, const Item& item) const;
  bool shares_products() const { return provider_->kind() == BackendKind::native; }
  int64_t shares_of(const Op& op, const Item& item) const;
  Columns columns_of(const Op& op, const Item& item, int64_t share, int64_t shares) const;
  const void* next_weights(const Op& op, const Item& item) const;
  Status run_ops(const Item& item);
  Status run_op(int32_t index, const Item& item);
  Status share_ops(const Item& item);
  void count_costs(const Section& section, const Part& part, const Destination& to);
  void collect_profile();
  Status fill_projections();
  Status execute(const Op& op, const Item& item);
  // task(thread) on every thread that comes in time; the first error of any, or ok.
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
  // task(index, thread) for [0, count).
  template <class Task>
  Status parallel(int64_t count, Task&& task) {
    tasks_.begin(count, team_.size());
    return on_threads([&](int thread) -> Status {
      for (int64_t index; tasks_.next(thread, &index);) LINFORMER_TRY(task(index, thread));
      return {};
    });
  }
  Source source_of(const Attention& attention) const;
  // The item's rows, of row_blocks or first_rows, one sequence after the other: each(sequence, place in the sequence,
  // first row of the item, rows).
  template <class Each>
  Status for_each_sequence(const Item& item, Each&& each) const {
    const bool first_only = item.stage.domain == Domain::first_rows;
    int64_t sequence = first_only ? item.row : batch_.sequence_of(item.row);
    for (int64_t r = 0; r < item.rows; ++sequence) {
      const int64_t place = first_only ? 0 : item.row + r - batch_.row_starts[sequence];
      const int64_t rows = first_only ? 1 : std::min(item.rows - r, batch_.length(sequence) - place);
      LINFORMER_TRY(each(sequence, place, r, rows));
      r += rows;
    }
    return {};
  }

  // Addresses.
  const Attention& attention_of(const Item& item) const {
    return program_.attentions[static_cast<size_t>(item.stage.attention)];
  }
  const std::byte* tensor(const View& view) const { return weights_[static_cast<size_t>(view.tensor)]; }
  const float* floats(const View& view) const {
    return view.present() ? reinterpret_cast<const float*>(tensor(view)) + view.offset : nullptr;
  }
  // Rows of a block as a product reads them.
  LeftMatrix left(const View& view, const Item& item) const;
  // E, or another weight on the left.
  LeftMatrix left(const View& view, int64_t rows, int64_t cols) const {
    return {tensor(view) + view.offset * element_bytes(view.type), view.type, rows, cols, view.ld};
  }
  // A weight on the right.
  RightMatrix right(const Op& op) const;
  RightMatrix right(const View& view, int64_t k, int64_t n) const;
  // Bytes of the scales of an int8 table, one for each row.
  const float* scales(const View& view) const;
  float* address(const View& view, const Item& item) const;
  MutableMatrix matrix(const View& view, const Item& item) const {
    const int64_t ld = view.place == Place::source ? source_of(attention_of(item)).ld : view.ld;
    return {address(view, item), item.rows, view.cols, ld};
  }
  float* block_buffer(BufferId id, int thread) const {
    return reinterpret_cast<float*>(buffer<std::byte>(id) +
                                    static_cast<uint64_t>(thread) * layout_.strides[static_cast<int>(id)]);
  }
  void* scratch(int thread) const { return block_buffer(BufferId::scratch, thread); }

  // One function for each op, or a few alike: gemm_ops.cc, row_ops.cc, key_ops.cc, attend.cc, attend_full.cc,
  // output_ops.cc.
  Status gemm(const Op& op, const Item& item) const;
  void add_row_sums(const Op& op, const Item& item) const;
  void scale_by_length(const Op& op, const Item& item) const;
  // Compressed rows from row `first` on, of a text of n rows.
  void scale_rows(LengthScale scale, const View& e, int64_t first, int64_t n, const MutableMatrix& rows) const;
  void gather(const Op& op, const Item& item) const;
  void add_position(const Op& op, const Item& item) const;
  void add_type(const Op& op, const Item& item) const;
  template <class Index>
  void add_weight_rows(const Op& op, const Item& item, const Index* indices) const;
  void read_vectors(const Op& op, const Item& item) const;
  void put_prefix(const Op& op, const Item& item) const;
  void zero(const Op& op, const Item& item) const;
  void copy(const Op& op, const Item& item) const;
  void convert(const Op& op, const Item& item) const;
  void add(const Op& op, const Item& item) const;
  void norm(const Op& op, const Item& item) const;
  void activate(const Op& op, const Item& item) const;
  void gate(const Op& op, const Item& item) const;
  void rotate(const Op& op, const Item& item) const;
  Status compress(const Op& op, const Item& item) const;
  void pack(const Item& item) const;
  void pack_rows(const Item& item) const;
  void pack_block(const Op& op, const Item& item) const;
  Status attend(const Op& op, const Item& item) const;
  // Heads [begin, end) on `thread`.
  struct HeadRange {
    int64_t begin, end;
    int thread;
  };
  void softmax(const Attention& attention, MutableMatrix scores, int64_t row, float* inverse_sums) const;
  Status attend_compressed(const Attention& attention, const Source& source, int64_t sequence, int64_t row,
                           MutableMatrix query, HeadRange range) const;
  RightMatrix full_side(const Attention& attention, const Source& source, int64_t sequence, int64_t g,
                        bool of_keys) const;
  Status attend_full(const Attention& attention, const Source& source, int64_t sequence, int64_t row,
                     MutableMatrix query, HeadRange range) const;
  Status attend_short(const Attention& attention, int64_t sequence, int64_t n, int64_t row, MutableMatrix query,
                      HeadRange range) const;
  static LeftMatrix probabilities_of(const Attention& attention, MutableMatrix scores);
  void select(const Op& op, const Item& item) const;
  void pool(const Op& op, const Item& item) const;
  class SequenceRows;
  void pool_sequence(Pooling pooling, const View& view, int64_t sequence, float* pooled) const;
  void pair(const Op& op, const Item& item) const;
  void expand(const Op& op, const Item& item) const;
  void probabilities(const Op& op, const Item& item) const;
  void normalize_length(const Op& op, const Item& item) const;

  const Kernels& kernels_;
  std::unique_ptr<GemmProvider> provider_;
  GemmIds gemms_;
  Array<int32_t> next_products_;  // by op: the next one that multiplies with panels of a weight, or -1
  ParallelFor callers_;
  ThreadTeam team_;
  std::unique_ptr<Status[]> errors_;  // one for each thread
  TaskCounter tasks_;                 // of the parallel section in progress
  Batch batch_;
  Request request_;               // of the call in progress
  const void* caller_ = nullptr;  // the thread that made it
  std::atomic<int64_t> rows_done_{0};
  Array<OpProfile> profile_, thread_profiles_;
};

}  // namespace LINFORMER_NAMESPACE
