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

RightMatrix Session::State::weight(const Linear& linear) const {
  const TensorDescription& tensor = description().tensors[static_cast<size_t>(linear.weight)];
  const int64_t n = static_cast<int64_t>(tensor.shape[0]), k = static_cast<int64_t>(tensor.shape[1]);
  const bool tied = tensor.layout == TensorLayout::row_major;
  return {model->data(linear.weight), tensor.type, tied ? RightLayout::transposed : RightLayout::panel16, k, n, k};
}

Status Session::State::run_linear(int product, const Linear& linear, const LinearCall& call, int thread) const {
  GemmArgs gemm;
  gemm.b = weight(linear);
  gemm.a = {call.a, call.m, gemm.b.k, call.a_stride};
  gemm.c = {call.c, call.m, gemm.b.n, call.c_stride};
  gemm.epilogue.bias = floats(linear.bias);
  gemm.epilogue.activation = call.activation;
  if (call.residual != nullptr) gemm.epilogue.residual = {call.residual, call.m, gemm.b.n, call.residual_stride};
  return program.gemm->run(product, gemm, scratch(thread));
}

void Session::State::normalize(const Norm& norm, const float* x, int64_t x_stride, int64_t rows, int64_t width,
                               float* y, int64_t y_stride) const {
  program.kernels->layer_norm_rows({x, rows, width, x_stride}, {floats(norm.scale), floats(norm.bias), norm.epsilon},
                                   {y, rows, width, y_stride});
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
  state->fill_position_table();
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

int64_t Session::output_rows(int64_t n) const { return state_->output_rows(n); }

int64_t Session::hidden_width(int layer) const {
  const bool exists = layer >= -1 && layer <= static_cast<int>(state_->encoder().layers.size());
  return exists ? state_->hidden_width(layer) : 0;
}

int64_t Session::score_rows(int head, int64_t texts, int64_t rows) const {
  const auto& heads = state_->description().heads;
  if (head < 0 || static_cast<size_t>(head) >= heads.size()) return 0;
  return state_->score_rows(heads[static_cast<size_t>(head)], texts, rows);
}

int64_t Session::embedding_width() const { return state_->embedding_width(); }

Status Session::run(std::span<const Tokens> texts, const Outputs& outputs) {
  return state_->run(InputList(texts), outputs);
}

Status Session::run(std::span<const Input> inputs, const Outputs& outputs) {
  return state_->run(InputList(inputs), outputs);
}

Status Session::State::run(const InputList& inputs, const Outputs& outputs) {
  LINFORMER_TRY(check(inputs, outputs));
  pack(inputs);
  LINFORMER_TRY(embed());
  const std::vector<LayerProgram>& layers = program.layers;
  float* hidden = outputs.hidden.empty() ? nullptr : outputs.hidden.data();
  if (hidden != nullptr && outputs.hidden_layer == 0) copy_hidden(0, hidden);
  for (size_t i = 0; i < layers.size(); ++i) {
    LINFORMER_TRY(run_layer(layers[i], i + 1 < layers.size() ? &layers[i + 1] : nullptr));
    if (hidden != nullptr && outputs.hidden_layer == static_cast<int>(i) + 1) copy_hidden(outputs.hidden_layer, hidden);
  }
  LINFORMER_TRY(finish());
  if (hidden != nullptr && outputs.hidden_layer < 0) copy_hidden(-1, hidden);
  if (!outputs.pooled.empty()) {
    const auto& heads = description().heads;
    Pooling pooling = Pooling::first_token;
    if (!heads.empty() && program.has_heads && outputs.head >= 0 && static_cast<size_t>(outputs.head) < heads.size() &&
        heads[static_cast<size_t>(outputs.head)].pooling != Pooling::none) {
      pooling = heads[static_cast<size_t>(outputs.head)].pooling;
    }
    pool(outputs.pooling.value_or(pooling), outputs.pooled.data());
  }
  LINFORMER_TRY(classify({outputs.head, outputs.logits, outputs.probabilities}));
  for (const HeadScores& scores : outputs.scores) LINFORMER_TRY(classify(scores));
  LINFORMER_TRY(embed_texts(outputs));
  return masked_lm(outputs);
}

}  // namespace linformer
