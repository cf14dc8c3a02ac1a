// The inside of a Session, shared by the files of the executor.
//
// One call goes through these steps, each a parallel section over the session's threads:
//   embedding                rows of X                         (embedding.cc)
//   for each layer
//     compress               E Z, or Z W for short texts       (attention.cc)
//     keys and values        K and V of every text
//     pack                   K^T and V head by head, where the backend wants it
//     rows                   Q, scores, context, output, FFN on blocks of rows, in place in X (layer.cc)
//   outputs                                                     (outputs.cc)
// A row of X depends on itself and its own text's K and V; K and V on their own text: so results do not depend
// on neighbours, and as every product adds up in an order of its own, not on threads or blocks either.
#pragma once

#include <memory>

#include "base/threads.h"
#include "linformer/session.h"
#include "plan/program.h"

namespace linformer {

// The texts of the call in progress, packed without padding.
struct Batch {
  int64_t texts = 0;
  int64_t rows = 0;
  int64_t* row_starts = nullptr;  // [texts + 1]
  int32_t* ids = nullptr;         // [rows]
  int32_t* positions = nullptr;   // [rows]
  int64_t length(int64_t text) const { return row_starts[text + 1] - row_starts[text]; }
};

struct Session::State {
  std::shared_ptr<const Model> model;
  Program program;
  std::byte* arena = nullptr;
  uint64_t arena_bytes = 0;
  ThreadTeam team;
  std::unique_ptr<Status[]> errors;  // one for each thread
  Batch batch;

  ~State();

  const ModelDescription& description() const { return model->description(); }
  const EncoderDescription& encoder() const { return description().encoder; }
  template <class T = float>
  T* buffer(BufferId id) const {
    return reinterpret_cast<T*>(arena + program.plan.buffers[id].offset);
  }
  float* thread_buffer(BufferId id, int thread, int64_t stride) const {
    return buffer(id) + thread * program.plan.block_rows * stride;
  }
  void* scratch(int thread) const {
    return arena + program.plan.buffers[buffer_scratch].offset +
           static_cast<uint64_t>(thread) * ((program.scratch_bytes + 63) / 64 * 64);
  }
  const float* floats(TensorIndex index) const {
    return index == absent ? nullptr : reinterpret_cast<const float*>(model->data(index));
  }

  // Runs `task(index, thread)` for [0, count) on all threads; the first error of any thread, or ok.
  template <class Task>
  Status parallel(int64_t count, Task&& task) {
    TaskCounter counter(count);
    team.run([&](int thread) {
      const int token = program.backend->enter_thread();
      Status& error = errors[thread];
      error = Status();
      for (int64_t index; error.ok() && counter.next(&index);) error = task(index, thread);
      program.backend->leave_thread(token);
    });
    for (int thread = 0; thread < team.size(); ++thread) {
      if (!errors[thread].ok()) return errors[thread];
    }
    return {};
  }

  // C[m, outputs] = epilogue(A W^T), with the activation and residual that `product` was declared with.
  struct LinearCall {
    int64_t m;
    const float* a;
    int64_t a_stride;
    float* c;
    int64_t c_stride;
    Activation activation = Activation::none;
    const float* residual = nullptr;
    int64_t residual_stride = 0;
  };
  Status run_linear(int product, const Linear& linear, const LinearCall& call, int thread) const;
  void normalize(const Norm& norm, const float* x, int64_t x_stride, int64_t rows, float* y, int64_t y_stride) const;

  // Rows in one task when `rows` are split evenly over the threads in blocks of at most the plan's.
  int64_t rows_per_task(int64_t rows) const;

  // batch.cc: checks everything that the caller passed before anything is written, then packs the texts.
  Status check(std::span<const Tokens> texts, const Outputs& outputs) const;
  void pack(std::span<const Tokens> texts);
  int64_t kept_tokens(Tokens text) const;
  // embedding.cc
  Status embed();
  // attention.cc
  Status compress(const LayerProgram& layer);
  Status keys_and_values(const LayerProgram& layer);
  Status pack_keys_and_values(const LayerProgram& layer);
  Status attend(const LayerProgram& layer, int64_t first_row, int64_t rows, float* query, int thread) const;
  // layer.cc
  Status run_layer(const LayerProgram& layer, const Norm* next_norm);
  // outputs.cc
  void copy_hidden(std::span<const Tokens> texts, const Norm* norm, float* destination) const;
  Status classify(const Outputs& outputs);
  Status masked_lm(const Outputs& outputs);
};

}  // namespace linformer
