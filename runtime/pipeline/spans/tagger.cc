#include "linformer/tagger.h"

#include <algorithm>
#include <new>
#include <optional>

#include "base/array.h"
#include "pipeline/spans/entities.h"
#include "pipeline/spans/token_scores.h"

namespace LINFORMER_NAMESPACE {
namespace {

Status no_memory_to_tag() { return Status::error(Code::out_of_memory, "no memory to tag texts"); }

// Returns `asked` if that head labels each token, or the first head that does if `asked` is -1.
Result<int> labelling_head(const Model& model, int asked) {
  const int heads = model.info().heads;
  if (asked >= heads || asked < -1) {
    return Status::error(Code::invalid_argument, "there is no head %d: the model has %d", asked, heads);
  }
  bool spans = false;
  for (int i = std::max(asked, 0); i < (asked < 0 ? heads : asked + 1); ++i) {
    const HeadInfo head = model.head(i);
    if (head.each_token && head.kind == HeadKind::single_label) return i;
    spans = spans || head.spans;
  }
  const char* use =
      spans ? "use an Answerer: the model has a head for it" : "use a Classifier, or take a session's logits";
  if (asked < 0) {
    return Status::error(Code::invalid_argument, "no head of this model gives each token a label: %s", use);
  }
  const std::string_view name = model.head(asked).name;
  return Status::error(Code::invalid_argument, "head \"%.*s\" does not give each token a label: %s",
                       static_cast<int>(std::min<size_t>(name.size(), 100)), name.data(), use);
}

}  // namespace

struct Tagger::State {
  // The data of one thread, which works on one text at a time.
  struct Worker {
    explicit Worker(EntityBuilder made) : builder(std::move(made)) {}
    EntityBuilder builder;
    Array<Entity> entities;  // The entities of all texts of the chunk that this thread has run.
  };
  // The range of a text's entities in the list of the thread that ran it.
  struct Found {
    size_t worker = 0, begin = 0, count = 0;
  };

  Status start(size_t begin, size_t count);
  Status on_scores(const TokenScores& scores);
  std::span<const Entity> entities_of(size_t index) const {
    const Found& text = found[index - chunk];
    return workers[text.worker].entities.span().subspan(text.begin, text.count);
  }

  int head = 0;
  TagLabels labels;
  WordRule words;
  Array<Worker> workers;
  size_t chunk = 0;    // The index of the chunk's first text in the call.
  Array<Found> found;  // An element for each text of the chunk.
  std::optional<TextRunner> runner;
};

Tagger::Tagger(std::unique_ptr<State> state) : state_(std::move(state)) {}
Tagger::Tagger(Tagger&&) noexcept = default;
Tagger& Tagger::operator=(Tagger&&) noexcept = default;
Tagger::~Tagger() = default;

Result<Tagger> Tagger::create(std::shared_ptr<const Model> model, const TaggerOptions& options) {
  if (model == nullptr) return Status::error(Code::invalid_argument, "no model: load one first");
  if (options.aggregation > Aggregation::max) {
    return Status::error(Code::invalid_argument, "there is no aggregation number %d",
                         static_cast<int>(options.aggregation));
  }
  const Result<int> head = labelling_head(*model, options.head);
  if (!head.ok()) return head.status();
  std::unique_ptr<State> state(new (std::nothrow) State);
  if (!state) return no_memory_to_tag();
  TokenScoresCallbacks callbacks;
  callbacks.context = state.get();
  callbacks.start = [](void* tagger, size_t begin, size_t count) {
    return static_cast<State*>(tagger)->start(begin, count);
  };
  callbacks.check = [](const TextInput& input) {
    return !input.pair ? Status()
                       : Status::error(Code::invalid_argument, "a tagger reads one text: give it without a second one");
  };
  callbacks.on_scores = [](void* tagger, const TokenScores& scores) {
    return static_cast<State*>(tagger)->on_scores(scores);
  };
  Result<TextRunner> runner = callbacks.create_runner(model, Output::probabilities({}, *head), options.texts);
  if (!runner.ok()) return runner.status();
  state->head = *head;
  state->runner = std::move(*runner);
  LINFORMER_TRY(state->labels.create(*model, *head));
  const bool by_word = options.aggregation != Aggregation::none && options.aggregation != Aggregation::simple;
  if (by_word) LINFORMER_TRY(state->words.create(*model));
  for (size_t i = 0; i < state->runner->sessions().size(); ++i) {
    EntityBuilder builder(options.aggregation, state->labels.labels(), &state->words);
    if (!state->workers.try_push(State::Worker(std::move(builder)))) return no_memory_to_tag();
  }
  return Tagger(std::move(state));
}

Status Tagger::State::start(size_t begin, size_t count) {
  chunk = begin;
  for (Worker& worker : workers) worker.entities.clear();
  found.clear();
  return found.try_resize(count) ? Status() : no_memory_to_tag();
}

Status Tagger::State::on_scores(const TokenScores& scores) {
  Worker& worker = workers[scores.worker];
  Found& text = found[scores.text];
  if (scores.window == 0) {
    text = {scores.worker, worker.entities.size(), 0};
    if (!worker.builder.start(scores.input.text)) return no_memory_to_tag();
  }
  const auto first = std::find(scores.texts.begin(), scores.texts.end(), int8_t{0}) - scores.texts.begin();
  for (size_t row = 0; row < scores.tokens.size(); ++row) {
    if (scores.tokens[row] < 0 || static_cast<size_t>(scores.tokens[row]) >= scores.ids.size()) continue;
    const size_t token = static_cast<size_t>(scores.tokens[row]);
    if (scores.texts[token] < 0) continue;
    const int64_t of_text = scores.first[0] + scores.tokens[row] - first;
    if (of_text < scores.nearest[0] || of_text >= scores.nearest[1]) continue;
    if (!worker.builder.add(scores.ids[token], scores.offsets[token], scores.row(row), &worker.entities)) {
      return no_memory_to_tag();
    }
  }
  if (scores.window + 1 == scores.windows && !worker.builder.finish(&worker.entities)) return no_memory_to_tag();
  text.count = worker.entities.size() - text.begin;
  return {};
}

Status Tagger::tag(const TextList& texts, Visit visit, void* context, const RunControl& control) {
  return state_->runner->run(
      texts,
      [&](size_t index, const TextReport& report, std::span<const float>) {
        const std::span<const Entity> none;
        return visit(context, index, Tagging{report, report.status.ok() ? state_->entities_of(index) : none});
      },
      control);
}

int Tagger::head() const { return state_->head; }
std::string_view Tagger::label(int64_t i) const {
  const std::span<const TagLabels::Label> labels = state_->labels.labels();
  return i >= 0 && static_cast<uint64_t>(i) < labels.size() ? labels[static_cast<size_t>(i)].name : std::string_view();
}
int64_t Tagger::max_tokens() const { return state_->runner->max_tokens(); }
size_t Tagger::texts_at_once() const { return state_->runner->texts_at_once(); }
std::span<const Session> Tagger::sessions() const { return state_->runner->sessions(); }

}  // namespace LINFORMER_NAMESPACE
