// The internal state of a Session. A Session checks what the caller passes, packs it, and runs the executor.
#pragma once

#include <memory>

#include "base/description.h"
#include "cpu/executor.h"
#include "linformer/session.h"
#include "linformer/version.h"
#include "program/batch.h"
#include "session/precision.h"
#if defined(LINFORMER_HAS_CUDA)
#include "cuda/create.h"
#endif

namespace LINFORMER_NAMESPACE {

// A model's weights in the form that executors read.
struct ExecutorWeights {
  Array<const std::byte*> tensors;  // The address of each tensor.
#if defined(LINFORMER_HAS_CUDA)
  cuda::WeightStore on_devices;
#endif
};

struct PreparedWeights::Data {
  std::shared_ptr<const Model> model;
  ExecutorWeights weights;
};

// Returns unsupported if options.cuda.device names a GPU and this build can't use GPUs.
Status check_device(const SessionOptions& options);
// Returns whether the session's device, or the CPU's kernels, multiply faster in bf16 than in f32. Returns unsupported
// if options.run asks for bf16 but it isn't available, and the errors of check_precision().
Result<Bf16Choice> choose_session_bf16(const SessionOptions& options, const Kernels& kernels);
Result<std::unique_ptr<Executor>> create_executor(Program program, const SessionOptions& options,
                                                  const Kernels& kernels, ExecutorWeights& weights);

// A model lowered for a session, and the plan that describes the result.
struct LoweredModel {
  Plan plan;
  Program program;
  const EncoderDescription* encoder = nullptr;  // The part that this session runs.
  bool has_heads = true;                        // Whether the heads and the masked-LM head read this part's rows.
};

// Lowers a model and plans a session. This is a pure function of its arguments: it reads no environment and doesn't
// look at the machine. `bf16` is the result of choose_session_bf16() or, for a machine that the caller describes, of
// choose_planned_bf16().
Result<LoweredModel> lower_model(const ModelDescription& description, const SessionOptions& options,
                                 const Bf16Choice& bf16);
// Writes the plan's types, buffers and terms, from the program and the layout of its arena.
void fill_plan(const Program& program, const ArenaLayout& layout, Plan* plan);

// The sequences that the caller passed: a list of token lists or a list of inputs.
class InputList {
 public:
  explicit InputList(std::span<const Tokens> tokens) : tokens_(tokens.data()), size_(tokens.size()) {}
  explicit InputList(std::span<const Input> inputs) : inputs_(inputs.data()), size_(inputs.size()) {}
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

struct Session::State {
  std::shared_ptr<const PreparedWeights> weights;
  Plan plan;
  const EncoderDescription* part = nullptr;
  bool has_heads = true;
  std::unique_ptr<Executor> executor;
  std::byte* arena = nullptr;
  uint64_t arena_bytes = 0;
  bool owns_arena = false;

  ~State();
  // Takes the caller's arena if `caller_arena` isn't empty. Otherwise it allocates one that the session owns.
  Status set_arena(std::span<std::byte> caller_arena);

  const ModelDescription& description() const { return weights->model()->description(); }
  const EncoderDescription& encoder() const { return *part; }
  const Program& program() const { return executor->program(); }

  Status run(const InputList& inputs, std::span<const Output> outputs, const RunControl& control);

  // Checks everything that the caller passed, before anything is written.
  Status check(const InputList& inputs, std::span<const Output> outputs) const;
  Status check_input(const InputList& inputs, size_t index) const;
  Status check_outputs(const InputList& inputs, std::span<const Output> outputs, int64_t hidden_rows) const;
  Status check_positions(const InputList& inputs, std::span<const MaskPosition> positions) const;
  Result<Shape> shape(const Output& output, int64_t sequences, int64_t hidden_rows) const;
  Result<Shape> head_shape(int head, int64_t sequences, int64_t hidden_rows) const;
  Result<Shape> shape(const Output& output, const InputList& inputs) const;
  int64_t input_length(const Input& input) const;   // The number of tokens or vectors.
  int64_t output_rows(int64_t length) const;        // The rows of hidden states.
  int64_t computed_rows(const Input& input) const;  // With the prefix, without stripped pads.
  int64_t hidden_width(int layer) const;            // The layer must exist.

  Status check_tokens_and_mask(const Input& input) const;
  Status row_tokens(const Input& input, std::span<int64_t> tokens) const;
  Result<int64_t> row_of(const Input& input, size_t token) const;
  Batch pack(const InputList& inputs) const;
  void pack_encoder_states(const InputList& inputs, Batch* batch) const;
};

}  // namespace LINFORMER_NAMESPACE
