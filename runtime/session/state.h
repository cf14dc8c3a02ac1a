// The inside of a Session, shared by the files of the executor.
//
// One call goes through these steps, each a parallel section over the session's threads:
//   embedding                rows of X                                       (embedding.cc)
//   for each layer
//     compress               E Z, or Z W for short texts and other paths     (compression.cc)
//     keys and values        K and V of every text                           (compression.cc, head_projection.cc)
//     pack                   K^T and V head by head, where the provider wants it  (attention.cc)
//       or, for full attention, K and V of every block of rows, packed       (full_attention.cc)
//     rows                   Q, scores, context, output, FFN on blocks of rows, in place in X (layer.cc)
//   finish                   final norm, output linear                       (layer.cc)
//   outputs                                                                  (outputs.cc, heads.cc)
// A row of X depends on itself and its own text's K and V; K and V on their own text: so results do not depend
// on neighbours, and as every product adds up in an order of its own, not on threads or blocks either.
#pragma once

#include <algorithm>
#include <memory>

#include "base/threads.h"
#include "linformer/session.h"
#include "plan/program.h"

namespace linformer {

// What the caller passed, in either form.
class InputList {
 public:
  explicit InputList(std::span<const Tokens> tokens) : tokens_(tokens.data()), size_(tokens.size()) {}
  explicit InputList(std::span<const Input> inputs) : inputs_(inputs.data()), size_(inputs.size()) {}
  InputList() = default;
  size_t size() const { return size_; }
  Input operator[](size_t i) const {
    if (inputs_ != nullptr) return inputs_[i];
    Input input;
    input.tokens = tokens_[i];
    return input;
  }

 private:
  const Tokens* tokens_ = nullptr;
  const Input* inputs_ = nullptr;
  size_t size_ = 0;
};

// The texts of the call in progress, packed without padding.
struct Batch {
  InputList inputs;
  int64_t texts = 0;
  int64_t rows = 0;
  bool has_masks = false;
  int64_t* row_starts = nullptr;     // [texts + 1]
  int32_t* ids = nullptr;            // [rows]
  int32_t* positions = nullptr;      // [rows]
  uint8_t* types = nullptr;          // [rows]
  uint8_t* masks = nullptr;          // [rows]: mask_row, mask_query
  int64_t* memory_starts = nullptr;  // [texts + 1]
  uint8_t* memory_masks = nullptr;
  bool has_memory = false;
  int64_t length(int64_t text) const { return row_starts[text + 1] - row_starts[text]; }
};

// The rows that a layer's keys and values are made of.
struct Source {
  const float* rows;
  int64_t stride;
  const int64_t* starts;
  const uint8_t* masks;
  int64_t length(int64_t text) const { return starts[text + 1] - starts[text]; }
  const float* text(int64_t t) const { return rows + starts[t] * stride; }
  // Of full attention's storage: a multiple of the panel width, and no two texts overlap.
  int64_t panel_start(int64_t t) const {
    return (starts[t] + (panel_width - 1) * t + panel_width - 1) / panel_width * panel_width;
  }
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
  const EncoderDescription& encoder() const { return *program.encoder; }
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
  int64_t outputs_of(const Linear& linear) const {
    return static_cast<int64_t>(description().tensors[static_cast<size_t>(linear.weight)].shape[0]);
  }

  // Runs `task(index, thread)` for [0, count) on all threads; the first error of any thread, or ok.
  template <class Task>
  Status parallel(int64_t count, Task&& task) {
    TaskCounter counter(count);
    team.run([&](int thread) {
      const int token = program.gemm->enter_thread();
      Status& error = errors[thread];
      error = Status();
      for (int64_t index; error.ok() && counter.next(&index);) error = task(index, thread);
      program.gemm->leave_thread(token);
    });
    for (int thread = 0; thread < team.size(); ++thread) {
      if (!errors[thread].ok()) return errors[thread];
    }
    return {};
  }
  // The same for blocks of `rows`: task(first, count, thread).
  template <class Task>
  Status parallel_rows(int64_t rows, Task&& task) {
    const int64_t step = rows_per_task(rows);
    return parallel((rows + step - 1) / step, [&](int64_t index, int thread) -> Status {
      const int64_t first = index * step;
      return task(first, std::min(step, rows - first), thread);
    });
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
  RightMatrix weight(const Linear& linear) const;
  Status run_linear(int product, const Linear& linear, const LinearCall& call, int thread) const;
  void normalize(const Norm& norm, const float* x, int64_t x_stride, int64_t rows, int64_t width, float* y,
                 int64_t y_stride) const;

  // Rows in one task when `rows` are split evenly over the threads in blocks of at most the plan's.
  int64_t rows_per_task(int64_t rows) const;

  Status run(const InputList& inputs, const Outputs& outputs);

  // batch.cc: checks everything that the caller passed before anything is written, then packs the texts.
  Status check(const InputList& inputs, const Outputs& outputs) const;
  Status check_outputs(const InputList& inputs, const Outputs& outputs, uint64_t hidden_rows) const;
  Status check_scores(const HeadScores& scores, const InputList& inputs, uint64_t hidden_rows) const;
  void pack(const InputList& inputs);
  void pack_memory();
  int64_t given_rows(const Input& input) const;  // tokens or vectors
  int64_t output_rows(int64_t given) const;      // of hidden
  int64_t kept_rows(const Input& input) const;   // after stripping, with the prefix
  int64_t score_rows(const ClassificationHead& head, int64_t texts, int64_t rows) const;
  int64_t hidden_width(int layer) const;
  int64_t embedding_width() const;
  // embedding.cc
  void fill_position_table();
  Status embed();
  Status embed_rows(int64_t first, int64_t rows, int thread) const;
  void add_positions(int64_t first, int64_t rows, float* x, int64_t stride, float* spare) const;
  Status read_vectors(int64_t first, int64_t rows, float* x, int64_t stride, int thread) const;
  // compression.cc
  Source source_of(const LayerProgram& layer) const;
  Status compress(const LayerProgram& layer);
  Status keys_and_values(const LayerProgram& layer);
  Status project_rows(const LayerProgram& layer, Side which, const Source& source, int64_t text, int64_t first,
                      int64_t rows, float* out, int thread) const;
  // head_projection.cc
  Status keys_and_values_by_head(const LayerProgram& layer);
  // attention.cc
  Status pack_keys_and_values(const LayerProgram& layer);
  Status attend(const LayerProgram& layer, int64_t first_row, int64_t rows, float* query, int thread) const;
  Status attend_compressed(const LayerProgram& layer, int64_t text, int64_t row, int64_t m, float* query,
                           int thread) const;
  // full_attention.cc
  Status full_keys_and_values(const LayerProgram& layer);
  Status attend_fully(const LayerProgram& layer, int64_t text, int64_t row, int64_t m, float* query, int thread) const;
  // layer.cc
  Status run_layer(const LayerProgram& layer, const LayerProgram* next);
  Status attention_output(const LayerProgram& layer, float* query, float* target, int64_t rows, int thread) const;
  Status feed_forward(const LayerProgram& layer, float* input, float* target, int64_t rows, int thread) const;
  Status finish();
  // outputs.cc
  void copy_hidden(int layer, float* destination) const;
  void pool(Pooling pooling, float* pooled) const;
  Status embed_texts(const Outputs& outputs);
  Status masked_lm(const Outputs& outputs);
  // heads.cc
  Status classify(const HeadScores& scores);
  Status score_rows_of(const ClassificationHead& head, const HeadProgram& products, const float* input,
                       int64_t input_stride, int64_t rows, float* logits);
};

}  // namespace linformer
