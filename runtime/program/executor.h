// The interface that runs a program, on the CPU (runtime/cpu) or on a GPU (runtime/cuda).
#pragma once

#include <atomic>
#include <cstddef>
#include <span>
#include <utility>

#include "linformer/output.h"
#include "linformer/status.h"
#include "linformer/version.h"
#include "program/batch.h"
#include "program/program.h"

namespace LINFORMER_NAMESPACE {

// The outputs that a call computes, and how it reports and stops. The session has checked that the model has these
// outputs and that their values have enough room.
struct Request {
  std::span<const Output> outputs;
  Pooling pooling = Pooling::first_token;     // The pooling of pooled outputs that name none.
  const std::atomic<bool>* cancel = nullptr;  // If it becomes true, the call stops. May be null.
  void (*progress)(void* context, double share) = nullptr;
  void* progress_context = nullptr;
  bool one_thread = false;  // Whether the call runs on the calling thread alone.

  bool is_cancelled() const { return cancel != nullptr && cancel->load(std::memory_order_relaxed); }
};

// The memory that a section writes its outputs to. A pointer is null if the caller doesn't want that output.
struct Destination {
  float* values = nullptr;
  float* probabilities = nullptr;  // The probabilities of a head.
  Pooling pooling = Pooling::first_token;
  std::span<const MaskPosition> positions = {};  // The positions that masked-LM logits are computed for.
  bool first_rows = false;  // Whether the encoder has computed only the first row of each sequence.
};

// Runs the calls of one session.
class Executor {
 public:
  virtual ~Executor() = default;

  const Program& program() const { return program_; }
  // Returns the final layout of the arena, including the scratch memory that products need.
  const ArenaLayout& layout() const { return layout_; }
  // Returns how many bytes of the arena, from its beginning, the caller provides in host memory. On the CPU this is the
  // whole arena. On a device it is the inputs that each call sends, the tables that start() sends, and memory for
  // copying masked-LM positions and outputs.
  virtual uint64_t host_bytes() const { return layout_.total; }
  // Starts the threads and fills the tables. The executor allocates nothing after this. The caller keeps ownership of
  // the arena, which must have host_bytes() bytes and stay valid as long as the executor exists.
  virtual Status start(std::byte* arena) = 0;
  // Returns the address of a buffer in the memory that the caller provides.
  template <class T = float>
  T* buffer(BufferId id) const {
    return reinterpret_cast<T*>(arena_ + layout_.offsets[static_cast<int>(id)]);
  }

  // Returns the address that the offsets of layout() count from: the arena, or a device's memory. Tests read the
  // results of single ops there.
  virtual const std::byte* memory() const { return arena_; }

  // Waits until the last call no longer reads the caller's memory, so that the next call may write there.
  virtual Status wait_until_inputs_read() { return {}; }
  virtual Status run(const Batch& batch, const Request& request) = 0;

  // The time, FLOPs and bytes of an op, in all calls and on all threads together. profile() has one entry for each op
  // of the program. It is empty if the executor was created without profiling.
  struct OpProfile {
    double seconds = 0, flop = 0, bytes = 0;
  };
  virtual std::span<const OpProfile> profile() const { return {}; }

 protected:
  Executor(Program program, std::span<const std::byte* const> weights)
      : program_(std::move(program)), weights_(weights) {}
  // Calls run(section, destination) for each section that a call needs, in order, and layer_done() after each layer.
  // Leaves out the masked-LM section.
  template <class Run, class LayerDone>
  Status run_encoder_sections(const Request& request, Run&& run, LayerDone&& layer_done) const {
    const int layers = static_cast<int>(program_.layers.size());
    const bool first_rows = reads_only_first_rows(request);
    for (int step = 0; step <= layers + 1; ++step) {
      const bool in_layer = step > 0 && step <= layers;
      LINFORMER_TRY(run(encoder_section(step, first_rows), Destination()));
      if (in_layer) layer_done();
      for (size_t i = 0; i < request.outputs.size(); ++i) {
        Destination to;
        to.first_rows = first_rows;
        const Section* output = output_section(request, i, step <= layers ? step : -1, &to);
        if (output != nullptr) LINFORMER_TRY(run(*output, to));
      }
    }
    return {};
  }
  template <class Run>
  Status run_masked_lm_sections(const Request& request, Run&& run) const {
    for (const Output& output : request.outputs) {
      if (output.kind != OutputKind::masked_lm || output.values.empty()) continue;
      Destination to{output.values.data()};
      to.positions = output.positions;
      LINFORMER_TRY(run(program_.masked_lm, to));
    }
    return {};
  }
  // Adds the FLOPs and bytes of a section, for sequences [first, first + sequences) of the batch, to `profile`, which
  // has one entry for each op of the program. All masked-LM positions are counted with the first sequence.
  void count_costs(const Section& section, const Batch& batch, int64_t first, int64_t sequences, int64_t positions,
                   OpProfile* profile) const;
  // Fills the tables of sinusoidal and rotary positions, for as many tokens as the program was lowered for.
  void fill_position_tables();

  Program program_;
  std::span<const std::byte* const> weights_;
  ArenaLayout layout_;
  std::byte* arena_ = nullptr;

 private:
  // Returns whether all outputs read only the first row of each sequence in the last layer's result.
  bool reads_only_first_rows(const Request& request) const;
  // Returns the section of a step of the encoder. Step 0 is the embedding, step i is layer i - 1, and the step after
  // the last layer finishes the encoder's output.
  Section encoder_section(int step, bool first_rows) const;
  // Returns the section that computes the i-th output from the rows after step `layer`, or after the encoder if `layer`
  // is -1. Returns null if the output isn't computed there, or if the section of another output computes it.
  const Section* output_section(const Request& request, size_t i, int layer, Destination* to) const;
  // Sets the destination of a head's outputs. One section computes both the logits and the probabilities of a head.
  // Returns false if the section that outputs[i] needs is run for another output.
  static bool set_head_destination(std::span<const Output> outputs, size_t i, Destination* to);
  void fill_sinusoidal_table();
  void fill_rotary_table(const Rotary& rotary);
};

}  // namespace LINFORMER_NAMESPACE
