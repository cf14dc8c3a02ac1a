#include <sys/mman.h>
#include <unistd.h>

#include <new>

#include "base/cpu.h"
#include "base/shared.h"
#include "session/state.h"

namespace linformer {
namespace {

// The kernels of an instruction set, with LINFORMER_ISA in the place of `automatic`.
Result<const Kernels*> choose_kernels(Isa isa) {
  if (isa == Isa::automatic) {
    const Result<Isa> asked = isa_from_environment();
    if (!asked.ok()) return asked.status();
    if (*asked != Isa::automatic && kernels_for(*asked) == nullptr) {
      return Status::error(Code::unsupported,
                           "this machine or build has no %s kernels, which LINFORMER_ISA in the environment asks for: "
                           "unset it",
                           name_of(*asked));
    }
    isa = *asked;
  }
  const Kernels* kernels = kernels_for(isa);
  if (kernels != nullptr) return kernels;
  return Status::error(Code::unsupported, "this machine or build has no %s kernels: choose another instruction set",
                       name_of(isa));
}

// Scores, as the executor asks for them: the one of `logits` and `probabilities` first, if wanted.
HeadRequest head_request(const void* context, size_t index) {
  const Outputs& outputs = *static_cast<const Outputs*>(context);
  const bool first = !outputs.logits.empty() || !outputs.probabilities.empty();
  if (first && index == 0) return {outputs.head, outputs.logits.data(), outputs.probabilities.data()};
  const HeadScores& scores = outputs.scores[index - (first ? 1 : 0)];
  return {scores.head, scores.logits.data(), scores.probabilities.data()};
}

RowOf mlm_position(const void* context, size_t index) {
  const MaskPosition& position = static_cast<const Outputs*>(context)->mlm_positions[index];
  return {position.text, position.position};
}

}  // namespace

Result<std::shared_ptr<const PreparedWeights>> PreparedWeights::create(std::shared_ptr<const Model> model) {
  if (model == nullptr) return Status::error(Code::invalid_argument, "no model: load one before creating a session");
  const size_t tensors = model->description().tensors.size();
  std::unique_ptr<Data> data(new (std::nothrow) Data);
  if (!data || !data->weights.tensors.try_resize(tensors)) {
    return Status::error(Code::out_of_memory, "no memory for the places of %zu tensors", tensors);
  }
  for (size_t i = 0; i < tensors; ++i) data->weights.tensors[i] = model->data(static_cast<TensorIndex>(i));
  data->model = std::move(model);
  std::unique_ptr<const PreparedWeights> made(new (std::nothrow) PreparedWeights(std::move(data)));
  std::shared_ptr<const PreparedWeights> shared = try_share(std::move(made));
  if (shared == nullptr) return Status::error(Code::out_of_memory, "no memory for prepared weights");
  return shared;
}

Compute machine_compute(Isa isa) {
  const Result<const Kernels*> kernels = choose_kernels(isa);
  return kernels.ok() && (*kernels)->native_bf16 ? Compute::automatic : Compute::no_bf16;
}

int64_t machine_block_rows(Isa isa) {
  const Result<const Kernels*> kernels = choose_kernels(isa);
  return kernels.ok() ? (*kernels)->block_rows : default_block_rows;
}

PreparedWeights::PreparedWeights(std::unique_ptr<Data> data) : data_(std::move(data)) {}
PreparedWeights::~PreparedWeights() = default;
const std::shared_ptr<const Model>& PreparedWeights::model() const { return data_->model; }

Session::State::~State() {
  executor.reset();  // may still use the arena
  if (arena != nullptr) munmap(arena, arena_bytes);
}

Session::Session(std::unique_ptr<State> state) : state_(std::move(state)) {}
Session::Session(Session&&) noexcept = default;
Session& Session::operator=(Session&&) noexcept = default;
Session::~Session() = default;

const Plan& Session::plan() const { return state_->plan; }

Result<Session> Session::create(std::shared_ptr<const Model> model, const SessionOptions& options) {
  Result<std::shared_ptr<const PreparedWeights>> weights = PreparedWeights::create(std::move(model));
  if (!weights.ok()) return weights.status();
  return create(std::move(weights.value()), options);
}

Result<Session> Session::create(std::shared_ptr<const PreparedWeights> weights, const SessionOptions& options) {
  if (weights == nullptr) return Status::error(Code::invalid_argument, "no weights: prepare a model's first");
  const Result<const Kernels*> kernels = choose_kernels(options.isa);
  if (!kernels.ok()) return kernels.status();
  const Result<bool> native = multiplies_bf16(options, **kernels);
  if (!native.ok()) return native.status();
  const bool bf16 = options.compute == Compute::automatic && *native;
  SessionOptions resolved = options;
  if (options.block_rows == 0 && options.backend == BackendKind::native) resolved.block_rows = (*kernels)->block_rows;
  Result<LoweredModel> lowered = lower_model(weights->model()->description(), resolved, bf16);
  if (!lowered.ok()) return lowered.status();
  std::unique_ptr<State> state(new (std::nothrow) State);
  if (!state) return Status::error(Code::out_of_memory, "no memory for a session");
  state->plan = lowered->plan;
  state->plan.options.isa = (*kernels)->isa;
  if (options.compute == Compute::automatic && !bf16) state->plan.options.compute = Compute::no_bf16;
  state->part = lowered->encoder;
  state->has_heads = lowered->has_heads;
  Result<std::unique_ptr<Executor>> executor =
      create_executor(std::move(lowered->program), options, **kernels, weights->data_->weights);
  if (!executor.ok()) return executor.status();
  state->executor = std::move(executor.value());
  state->weights = std::move(weights);
  publish(state->program(), state->executor->layout(), &state->plan);

  const uint64_t bytes = state->executor->host_bytes();
  const bool addressable = bytes <= PTRDIFF_MAX;
  void* arena = addressable ? mmap(nullptr, static_cast<size_t>(bytes), PROT_READ | PROT_WRITE,
                                   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
                            : MAP_FAILED;
  if (arena == MAP_FAILED) {
    return Status::error(Code::out_of_memory,
                         "the system refused an arena of %llu bytes: lower max_tokens, max_batch or threads",
                         static_cast<unsigned long long>(bytes));
  }
  state->arena = static_cast<std::byte*>(arena);
  state->arena_bytes = bytes;
  LINFORMER_TRY(state->executor->start(state->arena));
  return Session(std::move(state));
}

uint64_t Session::used_bytes() const {
  if (state_->plan.options.device >= 0) return state_->plan.total_bytes;
  const uint64_t page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  constexpr uint64_t pages_at_once = 1024;
  unsigned char resident[pages_at_once];
  uint64_t highest = 0;
  for (uint64_t offset = 0; offset < state_->arena_bytes; offset += pages_at_once * page) {
    const uint64_t left = state_->arena_bytes - offset;
    const uint64_t bytes = left < pages_at_once * page ? left : pages_at_once * page;
    if (mincore(state_->arena + offset, bytes, resident) != 0) return 0;
    for (uint64_t i = 0; i * page < bytes; ++i) {
      if ((resident[i] & 1) != 0) highest = offset + (i + 1) * page;
    }
  }
  return highest < state_->arena_bytes ? highest : state_->arena_bytes;
}

int64_t Session::output_rows(int64_t n) const { return state_->output_rows(n); }

int64_t Session::hidden_width(int layer) const {
  const bool exists = layer >= -1 && layer <= static_cast<int>(state_->encoder().layers.size());
  return exists ? state_->hidden_width(layer) : 0;
}

int64_t Session::score_rows(int head, int64_t texts, int64_t rows) const {
  const bool exists = head >= 0 && static_cast<size_t>(head) < state_->program().heads.size();
  return exists ? state_->score_rows(head, texts, rows) : 0;
}

int64_t Session::embedding_width() const { return state_->program().embedding_width; }

Status Session::run(std::span<const Tokens> texts, const Outputs& outputs) {
  return state_->run(InputList(texts), outputs);
}

Status Session::run(std::span<const Input> inputs, const Outputs& outputs) {
  return state_->run(InputList(inputs), outputs);
}

Status Session::State::run(const InputList& inputs, const Outputs& outputs) {
  LINFORMER_TRY(check(inputs, outputs));
  LINFORMER_TRY(executor->ready());
  const Batch batch = pack(inputs);
  Request request;
  request.context = &outputs;
  request.hidden = outputs.hidden.empty() ? nullptr : outputs.hidden.data();
  request.hidden_layer = outputs.hidden_layer;
  if (!outputs.pooled.empty()) {
    const auto& heads = description().heads;
    const bool has_head = has_heads && outputs.head >= 0 && static_cast<size_t>(outputs.head) < heads.size();
    const Pooling own = has_head ? heads[static_cast<size_t>(outputs.head)].pooling : Pooling::none;
    request.pooled = outputs.pooled.data();
    request.pooling = outputs.pooling.value_or(own == Pooling::none ? Pooling::first_token : own);
  }
  request.head = &head_request;
  request.heads = outputs.scores.size() + (!outputs.logits.empty() || !outputs.probabilities.empty() ? 1 : 0);
  request.embeddings = outputs.embeddings.empty() ? nullptr : outputs.embeddings.data();
  request.mlm_logits = outputs.mlm_logits.empty() ? nullptr : outputs.mlm_logits.data();
  request.mlm_position = &mlm_position;
  request.mlm_positions = outputs.mlm_positions.size();
  return executor->run(batch, request);
}

}  // namespace linformer
