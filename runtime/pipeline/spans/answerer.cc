#include "linformer/answerer.h"

#include <algorithm>
#include <new>
#include <optional>

#include "base/array.h"
#include "pipeline/spans/answer_spans.h"
#include "pipeline/spans/token_scores.h"

namespace LINFORMER_NAMESPACE {
namespace {

Status no_memory_to_answer() { return Status::error(Code::out_of_memory, "no memory to answer questions"); }

// Returns `asked` if that head scores spans, or the first head that does if `asked` is -1.
Result<int> answering_head(const Model& model, int asked) {
  const int heads = model.info().heads;
  if (asked >= heads || asked < -1) {
    return Status::error(Code::invalid_argument, "there is no head %d: the model has %d", asked, heads);
  }
  for (int i = std::max(asked, 0); i < (asked < 0 ? heads : asked + 1); ++i) {
    if (model.head(i).spans) return i;
  }
  const char* use = "use a Tagger for labels of tokens, a Classifier for labels of texts";
  if (asked < 0) return Status::error(Code::invalid_argument, "no head of this model answers questions: %s", use);
  const std::string_view name = model.head(asked).name;
  return Status::error(Code::invalid_argument, "head \"%.*s\" does not answer questions: %s",
                       static_cast<int>(std::min<size_t>(name.size(), 100)), name.data(), use);
}

// Returns the options of the runner: questions are never cut, so only the contexts are read in windows or cut.
TextOptions reading(const Model& model, const TextOptions& options) {
  const ModelInfo info = model.info();
  TextOptions read = options;
  read.truncation = Truncation::only_second;
  read.keep = Keep::head;
  if (read.max_tokens <= 0) {
    read.max_tokens = std::min(AnswererOptions::default_window + info.prefix_rows, info.max_tokens);
  }
  // Limits that are out of range are not checked here, because the session returns an error for them.
  const int64_t window = std::min(read.max_tokens, info.max_tokens) - info.prefix_rows;
  if (read.overlap < 0) {
    read.overlap = std::min(AnswererOptions::default_overlap, std::max<int64_t>(window, 0) / 2);
  }
  return read;
}

}  // namespace

struct Answerer::State {
  // The data of one thread, which works on one text at a time.
  struct Worker {
    explicit Worker(AnswerSpans made) : spans(std::move(made)) {}
    AnswerSpans spans;
    SpanLogits logits;
    Array<Answer> answers;  // The answers of all texts of the chunk that this thread has run.
  };
  // The range of a text's answers in the list of the thread that ran it.
  struct Found {
    size_t worker = 0, begin = 0, count = 0;
  };

  Status start(size_t begin, size_t count);
  Status on_scores(const TokenScores& scores);
  std::span<const Answer> answers_of(size_t index) const {
    const Found& text = found[index - chunk];
    return workers[text.worker].answers.span().subspan(text.begin, text.count);
  }

  int head = 0;
  Array<Worker> workers;
  size_t chunk = 0;    // The index of the chunk's first text in the call.
  Array<Found> found;  // An element for each text of the chunk.
  std::optional<TextRunner> runner;
};

Answerer::Answerer(std::unique_ptr<State> state) : state_(std::move(state)) {}
Answerer::Answerer(Answerer&&) noexcept = default;
Answerer& Answerer::operator=(Answerer&&) noexcept = default;
Answerer::~Answerer() = default;

Result<Answerer> Answerer::create(std::shared_ptr<const Model> model, const AnswererOptions& options) {
  if (model == nullptr) return Status::error(Code::invalid_argument, "no model: load one first");
  if (options.top_k < 1) {
    return Status::error(Code::invalid_argument, "top_k is %lld: ask for at least one answer",
                         static_cast<long long>(options.top_k));
  }
  if (options.max_answer_tokens < 1) {
    return Status::error(Code::invalid_argument, "max_answer_tokens is %lld: give 1 or more",
                         static_cast<long long>(options.max_answer_tokens));
  }
  const Result<int> head = answering_head(*model, options.head);
  if (!head.ok()) return head.status();
  std::unique_ptr<State> state(new (std::nothrow) State);
  if (!state) return no_memory_to_answer();
  TokenScoresCallbacks callbacks;
  callbacks.context = state.get();
  callbacks.start = [](void* answerer, size_t begin, size_t count) {
    return static_cast<State*>(answerer)->start(begin, count);
  };
  callbacks.check = [](const TextInput& input) {
    return input.pair ? Status()
                      : Status::error(Code::invalid_argument, "a question is answered from a context: give one");
  };
  callbacks.on_scores = [](void* answerer, const TokenScores& scores) {
    return static_cast<State*>(answerer)->on_scores(scores);
  };
  Result<TextRunner> runner =
      callbacks.create_runner(model, Output::logits({}, *head), reading(*model, options.texts), true);
  if (!runner.ok()) return runner.status();
  state->head = *head;
  state->runner = std::move(*runner);
  for (size_t i = 0; i < state->runner->sessions().size(); ++i) {
    AnswerSpans spans(options.max_answer_tokens, options.top_k, options.no_answer);
    if (!state->workers.try_push(State::Worker(std::move(spans)))) return no_memory_to_answer();
  }
  return Answerer(std::move(state));
}

Status Answerer::State::start(size_t begin, size_t count) {
  chunk = begin;
  for (Worker& worker : workers) worker.answers.clear();
  found.clear();
  return found.try_resize(count) ? Status() : no_memory_to_answer();
}

Status Answerer::State::on_scores(const TokenScores& scores) {
  Worker& worker = workers[scores.worker];
  SpanLogits& logits = worker.logits;
  Found& text = found[scores.text];
  if (scores.window == 0) {
    text = {scores.worker, worker.answers.size(), 0};
    if (!worker.spans.start(*scores.input.pair)) return no_memory_to_answer();
  }
  logits.clear();
  for (size_t row = 0; row < scores.tokens.size(); ++row) {
    if (scores.tokens[row] < 0 || static_cast<size_t>(scores.tokens[row]) >= scores.ids.size()) continue;
    const size_t token = static_cast<size_t>(scores.tokens[row]);
    const float begin = scores.row(row)[0], end = scores.row(row)[1];
    if (token == 0 && scores.texts[token] < 0) {
      logits.has_null = true;
      logits.null_begin = begin;
      logits.null_end = end;
    }
    if (scores.texts[token] != 1) continue;
    if (!logits.begins.try_push(begin) || !logits.ends.try_push(end) ||
        !logits.offsets.try_push(scores.offsets[token])) {
      return no_memory_to_answer();
    }
  }
  if (!worker.spans.add(logits)) return no_memory_to_answer();
  if (scores.window + 1 == scores.windows && !worker.spans.finish(&worker.answers)) return no_memory_to_answer();
  text.count = worker.answers.size() - text.begin;
  return {};
}

Status Answerer::answer(const TextList& questions, Visit visit, void* context, const RunControl& control) {
  return state_->runner->run(
      questions,
      [&](size_t index, const TextReport& report, std::span<const float>) {
        const std::span<const Answer> none;
        return visit(context, index, Answers{report, report.status.ok() ? state_->answers_of(index) : none});
      },
      control);
}

int Answerer::head() const { return state_->head; }
int64_t Answerer::max_tokens() const { return state_->runner->max_tokens(); }
size_t Answerer::texts_at_once() const { return state_->runner->texts_at_once(); }
std::span<const Session> Answerer::sessions() const { return state_->runner->sessions(); }

}  // namespace LINFORMER_NAMESPACE
