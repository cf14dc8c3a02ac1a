#include <new>

#include "base/cpu.h"
#include "base/description.h"
#include "base/platform.h"
#include "base/shared.h"
#include "session/state.h"

namespace LINFORMER_NAMESPACE {
namespace {

// Returns the kernels of an instruction set. For `automatic` it takes the set that LINFORMER_ISA names, or else the
// best one.
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

// Replaces Compute::automatic in the plan's options by no_bf16 if bf16 isn't faster on this machine.
void resolve_compute(const Bf16Choice& bf16, Plan* plan) {
  if (plan->options.run.compute == Compute::automatic && !bf16.faster) plan->options.run.compute = Compute::no_bf16;
}

}  // namespace

Result<std::shared_ptr<const PreparedWeights>> PreparedWeights::create(std::shared_ptr<const Model> model) {
  if (model == nullptr)
    return Status::error(Code::invalid_argument, "there is no model: load one before creating a session");
  const size_t tensors = model->description().tensors.size();
  std::unique_ptr<Data> data(new (std::nothrow) Data);
  if (!data || !data->weights.tensors.try_resize(tensors)) {
    return Status::error(Code::out_of_memory, "no memory for the addresses of %zu tensors", tensors);
  }
  for (size_t i = 0; i < tensors; ++i) data->weights.tensors[i] = model->data(static_cast<TensorIndex>(i));
  data->model = std::move(model);
  std::unique_ptr<const PreparedWeights> made(new (std::nothrow) PreparedWeights(std::move(data)));
  std::shared_ptr<const PreparedWeights> shared = try_share(std::move(made));
  if (shared == nullptr) return Status::error(Code::out_of_memory, "no memory for prepared weights");
  return shared;
}

Result<Plan> plan(const Model& model, const SessionOptions& options) {
  if (options.cuda.device >= 0) return plan(model, options, Machine());
  const Result<const Kernels*> kernels = choose_kernels(options.cpu.isa);
  Bf16Choice bf16{false, "this machine or build lacks the instruction set that is asked for"};
  if (kernels.ok()) {
    const Result<Bf16Choice> of_machine = choose_session_bf16(options, **kernels);
    if (!of_machine.ok()) return of_machine.status();
    bf16 = *of_machine;
  }
  SessionOptions resolved = options;
  if (options.cpu.block_rows == 0 && options.cpu.backend == BackendKind::native && kernels.ok()) {
    resolved.cpu.block_rows = (*kernels)->block_rows;
  }
  Result<LoweredModel> lowered = lower_model(model.description(), resolved, bf16);
  if (!lowered.ok()) return lowered.status();
  if (kernels.ok()) lowered->plan.options.cpu.isa = (*kernels)->isa;
  resolve_compute(bf16, &lowered->plan);
  return lowered->plan;
}

PreparedWeights::PreparedWeights(std::unique_ptr<Data> data) : data_(std::move(data)) {}
PreparedWeights::~PreparedWeights() = default;
const std::shared_ptr<const Model>& PreparedWeights::model() const { return data_->model; }

Session::State::~State() {
  executor.reset();  // Must come first, because the executor may still use the arena.
  if (owns_arena) platform::release_pages({arena, static_cast<size_t>(arena_bytes)});
}

Status Session::State::set_arena(std::span<std::byte> caller_arena) {
  const uint64_t bytes = executor->host_bytes();
  if (!caller_arena.empty()) {
    if (caller_arena.size() < bytes || reinterpret_cast<uintptr_t>(caller_arena.data()) % 64 != 0) {
      return Status::error(Code::invalid_argument,
                           "the arena given has %zu bytes%s: this session needs %llu, aligned to 64",
                           caller_arena.size(), caller_arena.size() < bytes ? "" : " that aren't aligned",
                           static_cast<unsigned long long>(bytes));
    }
    arena = caller_arena.data();
    arena_bytes = bytes;
    return {};
  }
  const platform::Pages pages = platform::reserve_pages(bytes);
  if (pages.data == nullptr) {
    return Status::error(Code::out_of_memory,
                         "the system refused an arena of %llu bytes: lower max_tokens, max_batch or threads",
                         static_cast<unsigned long long>(bytes));
  }
  arena = pages.data;
  arena_bytes = bytes;
  owns_arena = true;
  return {};
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
  if (weights == nullptr)
    return Status::error(Code::invalid_argument, "there are no weights: prepare the weights of a model first");
  const Result<const Kernels*> kernels = choose_kernels(options.cpu.isa);
  if (!kernels.ok()) return kernels.status();
  const Result<Bf16Choice> bf16 = choose_session_bf16(options, **kernels);
  if (!bf16.ok()) return bf16.status();
  SessionOptions resolved = options;
  if (options.cpu.block_rows == 0 && options.cpu.backend == BackendKind::native)
    resolved.cpu.block_rows = (*kernels)->block_rows;
  Result<LoweredModel> lowered = lower_model(weights->model()->description(), resolved, *bf16);
  if (!lowered.ok()) return lowered.status();
  std::unique_ptr<State> state(new (std::nothrow) State);
  if (!state) return Status::error(Code::out_of_memory, "no memory for a session");
  state->plan = lowered->plan;
  state->plan.options.cpu.isa = (*kernels)->isa;
  resolve_compute(*bf16, &state->plan);
  state->part = lowered->encoder;
  state->has_heads = lowered->has_heads;
  Result<std::unique_ptr<Executor>> executor =
      create_executor(std::move(lowered->program), options, **kernels, weights->data_->weights);
  if (!executor.ok()) return executor.status();
  state->executor = std::move(executor.value());
  state->weights = std::move(weights);
  fill_plan(state->program(), state->executor->layout(), &state->plan);

  LINFORMER_TRY(state->set_arena(options.memory.arena));
  LINFORMER_TRY(state->executor->start(state->arena));
  return Session(std::move(state));
}

uint64_t Session::used_bytes() const {
  if (state_->plan.options.cuda.device >= 0 || !state_->owns_arena) return state_->plan.total_bytes;
  return platform::touched_bytes(state_->arena, state_->arena_bytes);
}

int64_t Session::output_rows(int64_t n) const { return state_->output_rows(n); }

int64_t Session::classes(int head) const {
  const bool exists = state_->has_heads && head >= 0 && static_cast<size_t>(head) < state_->program().heads.size();
  return exists ? state_->program().heads[static_cast<size_t>(head)].classes : 0;
}

Status Session::row_tokens(const Input& input, std::span<int64_t> tokens) const {
  return state_->row_tokens(input, tokens);
}

Result<int64_t> Session::row_of(const Input& input, size_t token) const { return state_->row_of(input, token); }

Result<Shape> Session::shape(const Output& output, int64_t sequences, int64_t rows) const {
  if (sequences < 0 || rows < 0)
    return Status::error(Code::invalid_argument, "the number of texts or of rows is negative: give 0 or more");
  return state_->shape(output, sequences, rows);
}

Result<Shape> Session::shape(const Output& output, std::span<const Tokens> sequences) const {
  return state_->shape(output, InputList(sequences));
}

Result<Shape> Session::shape(const Output& output, std::span<const Input> inputs) const {
  return state_->shape(output, InputList(inputs));
}

Status Session::run(std::span<const Tokens> sequences, const Outputs& outputs, const RunControl& control) {
  return state_->run(InputList(sequences), outputs.list(), control);
}

Status Session::run(std::span<const Input> inputs, const Outputs& outputs, const RunControl& control) {
  return state_->run(InputList(inputs), outputs.list(), control);
}

Status Session::State::run(const InputList& inputs, std::span<const Output> outputs, const RunControl& control) {
  LINFORMER_TRY(check(inputs, outputs));
  LINFORMER_TRY(executor->wait_until_inputs_read());
  const Batch batch = pack(inputs);
  Request request;
  request.outputs = outputs;
  const auto& heads = description().heads;
  if (has_heads && !heads.empty() && heads[0].pooling != Pooling::none) request.pooling = heads[0].pooling;
  request.cancel = control.cancel;
  request.progress = control.progress;
  request.progress_context = control.context;
  request.one_thread = control.one_thread;
  return executor->run(batch, request);
}

}  // namespace LINFORMER_NAMESPACE
