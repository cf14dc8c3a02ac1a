// The inside of a Session: checks what the caller passes, packs it, and runs the executor.
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

// The weights of a model as executors read them.
struct ExecutorWeights {
  Array<const std::byte*> tensors;  // where each tensor lies
#if defined(LINFORMER_HAS_CUDA)
  cuda::WeightStore on_devices;
#endif
};

struct PreparedWeights::Data {
  std::shared_ptr<const Model> model;
  ExecutorWeights weights;
};

// unsupported where the build can't use the device that the options name.
Status check_device(const SessionOptions& options);
// Whether products in bf16 are faster than those in f32 on the session's device, or by the CPU's kernels. unsupported
// where the options ask for bf16 and there is none, invalid_argument as check_precision() has it.
Result<Bf16Choice> bf16_of(const SessionOptions& options, const Kernels& kernels);
Result<std::unique_ptr<Executor>> create_executor(Program program, const SessionOptions& options,
                                                  const Kernels& kernels, ExecutorWeights& weights);

// A model lowered for a session, and the plan that says so.
struct LoweredModel {
  Plan plan;
  Program program;
  const EncoderDescription* encoder = nullptr;  // the part that this session runs
  bool has_heads = true;                        // heads and masked-LM belong to this part
};

// A pure function of its arguments: reads no environment and asks nothing of the machine. `bf16`: of the machine that
// the session is for, or planned_bf16().
Result<LoweredModel> lower_model(const ModelDescription& description, const SessionOptions& options,
                                 const Bf16Choice& bf16);
// The plan's buffers from the arena's layout.
void publish(const Program& program, const ArenaLayout& layout, Plan* plan);

// What the caller passed, in either form.
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
  // The caller's arena where there is one, else one of the session's own.
  Status take_arena(std::span<std::byte> given);

  const ModelDescription& description() const { return weights->model()->description(); }
  const EncoderDescription& encoder() const { return *part; }
  const Program& program() const { return executor->program(); }

  Status run(const InputList& inputs, std::span<const Output> outputs, const RunControl& control);

  // check.cc: everything that the caller passed, before anything is written.
  Status check(const InputList& inputs, std::span<const Output> outputs) const;
  Status check_input(const InputList& inputs, size_t index) const;
  // shape.cc
  Status check_outputs(const InputList& inputs, std::span<const Output> outputs, int64_t hidden_rows) const;
  Status check_positions(const InputList& inputs, std::span<const MaskPosition> positions) const;
  Result<Shape> shape(const Output& output, int64_t sequences, int64_t hidden_rows) const;
  Result<Shape> head_shape(int head, int64_t sequences, int64_t hidden_rows) const;
  Result<Shape> shape(const Output& output, const InputList& inputs) const;
  int64_t given_rows(const Input& input) const;  // tokens or vectors
  int64_t output_rows(int64_t given) const;      // of hidden
  int64_t kept_rows(const Input& input) const;   // after stripping, with the prefix
  int64_t hidden_width(int layer) const;         // of a layer that exists

  // pack.cc
  Status check_mapped(const Input& input) const;
  Status row_tokens(const Input& input, std::span<int64_t> tokens) const;
  Result<int64_t> row_of(const Input& input, size_t token) const;
  Batch pack(const InputList& inputs) const;
  void pack_states(const InputList& inputs, Batch* batch) const;
};

}  // namespace LINFORMER_NAMESPACE
