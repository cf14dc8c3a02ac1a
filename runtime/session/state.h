// The inside of a Session: checks what the caller passes, packs it, and runs the executor.
#pragma once

#include <memory>

#include "cpu/executor.h"
#include "linformer/session.h"
#include "program/batch.h"
#if defined(LINFORMER_HAS_CUDA)
#include "cuda/create.h"
#endif

namespace linformer {

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

// Whether the session's device, or the CPU's kernels, multiply bf16.
Result<bool> multiplies_bf16(const SessionOptions& options, const Kernels& kernels);
Result<std::unique_ptr<Executor>> create_executor(Program program, const SessionOptions& options,
                                                  const Kernels& kernels, ExecutorWeights& weights);

// A model lowered for a session, and the plan that says so.
struct LoweredModel {
  Plan plan;
  Program program;
  const EncoderDescription* encoder = nullptr;  // the part that this session runs
  bool has_heads = true;                        // heads and masked-LM belong to this part
};

// A pure function of its arguments: reads no environment and asks nothing of the machine.
// What plan() takes for granted where nothing is asked of the machine: bf16 where the instruction set may have it.
inline bool plans_bf16(const SessionOptions& options) {
  return options.compute == Compute::automatic && (options.isa == Isa::automatic || options.isa == Isa::avx512);
}
// `bf16`: whether the machine computes in it.
Result<LoweredModel> lower_model(const ModelDescription& description, const SessionOptions& options, bool bf16);
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

  ~State();

  const ModelDescription& description() const { return weights->model()->description(); }
  const EncoderDescription& encoder() const { return *part; }
  const Program& program() const { return executor->program(); }

  Status run(const InputList& inputs, const Outputs& outputs);

  // check.cc: everything that the caller passed, before anything is written.
  Status check(const InputList& inputs, const Outputs& outputs) const;
  Status check_input(const InputList& inputs, size_t index) const;
  Status check_outputs(const InputList& inputs, const Outputs& outputs, uint64_t hidden_rows) const;
  Status check_scores(const HeadScores& scores, const InputList& inputs, uint64_t hidden_rows) const;
  int64_t given_rows(const Input& input) const;  // tokens or vectors
  int64_t output_rows(int64_t given) const;      // of hidden
  int64_t kept_rows(const Input& input) const;   // after stripping, with the prefix
  int64_t score_rows(int head, int64_t sequences, int64_t rows) const;
  int64_t hidden_width(int layer) const;

  // pack.cc
  Batch pack(const InputList& inputs) const;
  void pack_states(const InputList& inputs, Batch* batch) const;
};

}  // namespace linformer
