// What runs a program: on the CPU (runtime/cpu) or on a GPU (runtime/cuda).
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

// What a call computes. Its outputs were checked: the model has them, and their values are long enough.
struct Request {
  std::span<const Output> outputs;
  Pooling pooling = Pooling::first_token;     // of a pooled output that doesn't say
  const std::atomic<bool>* cancel = nullptr;  // true: stop
  void (*progress)(void* context, double share) = nullptr;
  void* progress_context = nullptr;
  bool one_thread = false;

  bool is_cancelled() const { return cancel != nullptr && cancel->load(std::memory_order_relaxed); }
};

// Where the numbers of a section go. Null: not wanted.
struct Destination {
  float* values = nullptr;
  float* probabilities = nullptr;  // of a head
  Pooling pooling = Pooling::first_token;
  std::span<const MaskPosition> positions = {};  // of masked-LM
  bool first_rows = false;                       // of the encoder's rows only each sequence's first was made
};

class Executor {
 public:
  virtual ~Executor() = default;

  const Program& program() const { return program_; }
  // The arena's final layout, with the scratch that products turned out to need.
  const ArenaLayout& layout() const { return layout_; }
  // Of the arena's beginning, which the caller provides: all of it, or what a device is sent in each call.
  virtual uint64_t host_bytes() const { return layout_.total; }
  // Starts the threads and fills the tables; nothing is allocated after it. The arena stays the caller's.
  virtual Status start(std::byte* arena) = 0;
  // Of what the caller provides.
  template <class T = float>
  T* buffer(BufferId id) const {
    return reinterpret_cast<T*>(arena_ + layout_.offsets[static_cast<int>(id)]);
  }

  // The address that the offsets of layout() count from: the arena's, or that of a device's memory. The tests read the
  // results of single ops there.
  virtual const std::byte* memory() const { return arena_; }

  // Waits until the last call has read what the caller's memory holds, which the next one writes.
  virtual Status ready() { return {}; }
  virtual Status run(const Batch& batch, const Request& request) = 0;

  // What ops did in all calls, all threads together, by index in the program; empty without `profile`.
  struct OpProfile {
    double seconds = 0, flop = 0, bytes = 0;
  };
  virtual std::span<const OpProfile> profile() const { return {}; }

 protected:
  Executor(Program program, std::span<const std::byte* const> weights)
      : program_(std::move(program)), weights_(weights) {}
  // run(section, destination) for each section of a call but masked-LM's, in order, and layer_done() after each layer.
  template <class Run, class LayerDone>
  Status run_encoder_sections(const Request& request, Run&& run, LayerDone&& layer_done) const {
    const int layers = static_cast<int>(program_.layers.size());
    const bool first_rows = reads_first_rows(request);
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
  // Adds to `profile`, by index in the program, what a section costs for sequences [first, first + sequences) of the
  // batch. All masked-LM positions are counted with the first.
  void count_costs(const Section& section, const Batch& batch, int64_t first, int64_t sequences, int64_t positions,
                   OpProfile* profile) const;
  // Sinusoidal and rotary positions, for as many tokens as the program was lowered for.
  void fill_tables();

  Program program_;
  std::span<const std::byte* const> weights_;
  ArenaLayout layout_;
  std::byte* arena_ = nullptr;

 private:
  // Whether no output needs another row of the last layer's result than the first of each sequence.
  bool reads_first_rows(const Request& request) const;
  // Of embedding, layers and finish the step-th.
  Section encoder_section(int step, bool first_rows) const;
  // What makes the i-th output of the rows after `layer`, or (-1) after the encoder; null: nothing, or not now.
  const Section* output_section(const Request& request, size_t i, int layer, Destination* to) const;
  // A head's logits and probabilities are one section. False: the other one of outputs[i] has it.
  static bool head_destination(std::span<const Output> outputs, size_t i, Destination* to);
  void fill_positions();
  void fill_rotary(const Rotary& rotary);
};

}  // namespace LINFORMER_NAMESPACE
