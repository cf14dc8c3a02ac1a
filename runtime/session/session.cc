#include <sys/mman.h>
#include <unistd.h>

#include <new>

#include "base/checked.h"
#include "session/state.h"

namespace linformer {

Session::State::~State() {
  if (arena != nullptr) munmap(arena, arena_bytes);
}

int64_t Session::State::rows_per_task(int64_t rows) const {
  int64_t tasks = ceil_div(rows, program.plan.block_rows);
  if (team.size() > 1) tasks = round_up(tasks, team.size());
  return round_up(ceil_div(rows, tasks), panel_width);
}

Status Session::State::run_linear(int product, const Linear& linear, const LinearCall& call, int thread) const {
  const TensorDescription& weight = description().tensors[linear.weight];
  Product arguments{};
  arguments.m = call.m;
  arguments.n = static_cast<int64_t>(weight.shape[0]);
  arguments.k = static_cast<int64_t>(weight.shape[1]);
  arguments.a = call.a;
  arguments.a_stride = call.a_stride;
  arguments.b = model->data(linear.weight);
  arguments.b_stride = arguments.k;  // used by a tied (row-major) weight only
  arguments.c = call.c;
  arguments.c_stride = call.c_stride;
  arguments.epilogue.bias = floats(linear.bias);
  arguments.epilogue.activation = call.activation;
  arguments.epilogue.residual = call.residual;
  arguments.epilogue.residual_stride = call.residual_stride;
  return program.backend->run(product, arguments, scratch(thread));
}

void Session::State::normalize(const Norm& norm, const float* x, int64_t x_stride, int64_t rows, float* y,
                               int64_t y_stride) const {
  program.kernels->layer_norm_rows(x, x_stride, floats(norm.scale), floats(norm.bias), norm.epsilon, rows, program.d, y,
                                   y_stride);
}

Session::Session(std::unique_ptr<State> state) : state_(std::move(state)) {}
Session::Session(Session&&) noexcept = default;
Session& Session::operator=(Session&&) noexcept = default;
Session::~Session() = default;

const Plan& Session::plan() const { return state_->program.plan; }

Result<Session> Session::create(std::shared_ptr<const Model> model, const SessionOptions& options) {
  if (model == nullptr) return Status::error(Code::invalid_argument, "no model: load one before creating a session");
  Result<Program> program = make_program(*model, options);
  if (!program.ok()) return program.status();
  std::unique_ptr<State> state(new (std::nothrow) State);
  const int threads = program->plan.options.threads;
  if (state) state->errors.reset(new (std::nothrow) Status[threads]);
  if (!state || !state->errors) return Status::error(Code::out_of_memory, "no memory for a session");
  state->model = std::move(model);
  state->program = std::move(program.value());

  const uint64_t bytes = state->program.plan.total_bytes;
  void* arena = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (arena == MAP_FAILED) {
    return Status::error(Code::out_of_memory,
                         "the system refused an arena of %llu bytes: lower max_tokens, max_batch or threads",
                         static_cast<unsigned long long>(bytes));
  }
  state->arena = static_cast<std::byte*>(arena);
  state->arena_bytes = bytes;
  LINFORMER_TRY(state->team.start(threads));
  return Session(std::move(state));
}

uint64_t Session::used_bytes() const {
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

Status Session::run(std::span<const Tokens> texts, const Outputs& outputs) {
  State& state = *state_;
  LINFORMER_TRY(state.check(texts, outputs));
  state.pack(texts);
  LINFORMER_TRY(state.embed());
  const EncoderDescription& encoder = state.encoder();
  const bool pre_norm = encoder.norm_placement == NormPlacement::pre;
  const std::vector<LayerProgram>& layers = state.program.layers;
  float* hidden = outputs.hidden.empty() ? nullptr : outputs.hidden.data();
  if (hidden != nullptr && outputs.hidden_layer == 0) state.copy_hidden(texts, nullptr, hidden);
  for (size_t i = 0; i < layers.size(); ++i) {
    const Norm* next_norm = pre_norm && i + 1 < layers.size() ? &layers[i + 1].description->attention_norm : nullptr;
    LINFORMER_TRY(state.run_layer(layers[i], next_norm));
    if (hidden != nullptr && outputs.hidden_layer == static_cast<int>(i) + 1) {
      state.copy_hidden(texts, nullptr, hidden);
    }
  }
  if (hidden != nullptr && outputs.hidden_layer < 0) {
    state.copy_hidden(texts, encoder.final_norm.present() ? &encoder.final_norm : nullptr, hidden);
  }
  LINFORMER_TRY(state.classify(outputs));
  return state.masked_lm(outputs);
}

}  // namespace linformer
