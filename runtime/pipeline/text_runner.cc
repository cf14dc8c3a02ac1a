#include "linformer/text_runner.h"

#include <algorithm>
#include <new>

#include "base/description.h"
#include "pipeline/prompts.h"
#include "pipeline/session_options.h"
#include "pipeline/text_runner_state.h"

namespace LINFORMER_NAMESPACE {
namespace {

// The number of texts in a chunk for each thread. With many texts, threads wait only a short time at the end of a
// chunk.
constexpr size_t texts_for_a_thread = 256;
constexpr size_t most_chunk_floats = size_t{16} << 20;  // The limit of the values of a chunk.

Status no_memory_for_runner() { return Status::error(Code::out_of_memory, "no memory for a runner of texts"); }

}  // namespace

TextRunner::TextRunner(std::unique_ptr<State> state) : state_(std::move(state)) {}
TextRunner::TextRunner(TextRunner&&) noexcept = default;
TextRunner& TextRunner::operator=(TextRunner&&) noexcept = default;
TextRunner::~TextRunner() = default;

Result<TextRunner> TextRunner::create(std::shared_ptr<const Model> model, std::span<const Output> outputs,
                                      const TextOptions& options) {
  if (model == nullptr) return Status::error(Code::invalid_argument, "no model: load one first");
  std::unique_ptr<State> state(new (std::nothrow) State);
  if (!state) return no_memory_for_runner();
  state->model_ = std::move(model);
  LINFORMER_TRY(state->prepare(options, outputs));
  return TextRunner(std::move(state));
}

Result<TextRunner> TokenScoresCallbacks::create_runner(std::shared_ptr<const Model> model, const Output& output,
                                                       const TextOptions& options, bool short_last_window) const {
  std::unique_ptr<TextRunner::State> state(new (std::nothrow) TextRunner::State);
  if (!state) return no_memory_for_runner();
  state->model_ = std::move(model);
  state->token_callbacks_ = *this;
  state->short_last_window_ = short_last_window;
  LINFORMER_TRY(state->prepare(options, {&output, 1}));
  return TextRunner(std::move(state));
}

Result<TextRunner> PromptedRunner::create(std::shared_ptr<const Model> model, const Output& output,
                                          const TextOptions& options, std::string_view prompt) {
  std::unique_ptr<TextRunner::State> state(new (std::nothrow) TextRunner::State);
  if (!state || !state->prompt_.try_assign(prompt)) return no_memory_for_runner();
  state->model_ = std::move(model);
  LINFORMER_TRY(state->prepare(options, {&output, 1}));
  return TextRunner(std::move(state));
}

Status TextRunner::run(const TextList& texts, Visit visit, void* context, const RunControl& control) {
  return state_->run(texts, visit, context, control);
}

int64_t TextRunner::columns(size_t output) const {
  return output < state_->shapes_.size() ? state_->shapes_[output] : 0;
}
int64_t TextRunner::max_tokens() const { return state_->max_tokens_; }
size_t TextRunner::texts_at_once() const { return state_->texts_at_once_; }
std::span<const Session> TextRunner::sessions() const { return state_->sessions_.span(); }

Status TextRunner::State::prepare(const TextOptions& options, std::span<const Output> outputs) {
  const ModelDescription& description = model_->description();
  if (options.on_long > OnLong::error) {
    return Status::error(Code::invalid_argument, "there is no on_long number %d", static_cast<int>(options.on_long));
  }
  if (options.cpu.threads < 1 || options.cpu.threads > ThreadTeam::max_threads) {
    return Status::error(Code::invalid_argument, "threads is %d: give 1 to %d", options.cpu.threads,
                         ThreadTeam::max_threads);
  }
  if (outputs.empty() || outputs.size() > Outputs::most) {
    return Status::error(Code::invalid_argument, "%zu outputs: ask for 1 to %zu", outputs.size(), Outputs::most);
  }
  for (const Output& output : outputs) {
    if (output.kind != OutputKind::logits && output.kind != OutputKind::probabilities) continue;
    const bool exists = output.head >= 0 && static_cast<size_t>(output.head) < description.heads.size();
    apart_ = apart_ || (exists && description.heads[static_cast<size_t>(output.head)].pairing != Pairing::none);
  }
  const SessionOptions session = session_options_of(*model_, options, static_cast<int>(sequences_per_text()));
  LINFORMER_TRY(create_sessions(session, options.cpu.threads, {session.cpu.parallel, session.cpu.parallel_context}));

  const Session& first = sessions_[0];
  const MemoryOptions& planned = first.plan().options.memory;
  max_batch_ = planned.max_batch;
  // A group fills two blocks of rows of the matrix products. Larger groups would share the work less evenly.
  group_rows_ = sessions_.size() > 1 ? std::min(planned.max_rows, 2 * first.plan().block_rows) : planned.max_rows;
  prefix_rows_ = first.output_rows(0);
  max_tokens_ = planned.max_tokens - prefix_rows_;
  on_long_ = options.on_long;
  pad_to_ = options.pad_to;
  texts_at_once_ = texts_for_a_thread * sessions_.size();
  LINFORMER_TRY(check_pad_to(*model_, options, max_tokens_));
  const EmbeddingDescription& embedding = description.encoder.embedding;
  if (embedding.tokens == absent) vector_width_ = embedding.vectors.width;
  if (vector_width_ > 0 && scores_tokens()) {
    return Status::error(Code::unsupported, "this model reads vectors and no texts: use a session");
  }
  LINFORMER_TRY(make_workers(options));

  for (const Output& output : outputs) {
    if (output.kind == OutputKind::masked_lm) {
      return Status::error(Code::invalid_argument,
                           "masked-LM logits have no row for a text: use MaskFiller or MaskedLm");
    }
    const Result<Shape> shape = first.shape(output, 2, 6);
    if (!shape.ok()) return shape.status();
    if (scores_tokens()) {
      if (!outputs_.try_push(output) || !shapes_.try_push(shape->columns)) return no_memory_for_runner();
      return {};
    }
    if (shape->rows != (apart_ ? 1 : 2)) {
      return Status::error(Code::invalid_argument,
                           output.kind == OutputKind::hidden || shape->rows == 6
                               ? "this output has a row for each token and no row for a text: use a session"
                               : "a head that compares two texts can't be combined with outputs for each text: run "
                                 "them one after the other");
    }
    if (!outputs_.try_push(output) || !shapes_.try_push(shape->columns)) return no_memory_for_runner();
    row_ += static_cast<size_t>(shape->columns);
  }
  texts_at_once_ = std::clamp<size_t>(most_chunk_floats / std::max<size_t>(row_, 1), 1, texts_at_once_);
  return {};
}

Status TextRunner::State::make_workers(const TextOptions& options) {
  for (Session& made : sessions_) {
    Worker worker;
    worker.session = &made;
    Result<SequenceBatch> batch =
        SequenceBatch::create(made, {0, vector_width_ > 0 ? 0 : pad_to_, model_->description().encoder.pad_id});
    if (!batch.ok()) return batch.status();
    worker.batch = std::move(*batch);
    if (vector_width_ == 0) {
      TextReaderOptions reading;
      reading.texts = options;
      reading.apart = apart_;
      reading.short_last_window = short_last_window_;
      reading.prompt = prompt_;
      reading.session = &made;
      Result<TextReader> reader =
          workers_.empty() ? TextReader::create(model_, reading) : workers_[0].reader->another();
      if (!reader.ok()) return reader.status();
      worker.reader = std::move(*reader);
    }
    if (!workers_.try_push(std::move(worker))) return no_memory_for_runner();
  }
  return {};
}

// Creates a session for each thread. The first session can also use all threads of the team, which run_chunk() does if
// there are few texts. Backends other than native, and devices, get a single session, which divides its work itself.
Status TextRunner::State::create_sessions(const SessionOptions& session, int threads, const ParallelFor& caller_loop) {
  const bool several = session.cpu.backend == BackendKind::native && session.cuda.device < 0;
  Result<std::shared_ptr<const PreparedWeights>> weights = PreparedWeights::create(model_);
  if (!weights.ok()) return weights.status();
  if (several) LINFORMER_TRY(team_.start(threads, caller_loop));
  for (int i = 0; i < (several ? threads : 1); ++i) {
    SessionOptions options = session;
    options.cpu.threads = i == 0 ? threads : 1;
    if (several && i == 0) {
      options.cpu.parallel = [](void* team, void (*task)(void*, int), void* argument, int) {
        static_cast<ThreadTeam*>(team)->run(task, argument);
      };
      options.cpu.parallel_context = &team_;
    }
    Result<Session> made = Session::create(*weights, options);
    if (!made.ok()) return made.status();
    if (!sessions_.try_push(std::move(made.value()))) return no_memory_for_runner();
  }
  return {};
}

}  // namespace LINFORMER_NAMESPACE
