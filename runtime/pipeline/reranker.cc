#include "linformer/reranker.h"

#include <cmath>
#include <limits>
#include <new>

#include "linformer/text_runner.h"
#include "pipeline/best_heap.h"

namespace LINFORMER_NAMESPACE {
namespace {

Status no_memory_to_rank() { return Status::error(Code::out_of_memory, "no memory to rank documents"); }

bool scores_two(const HeadInfo& head) {
  return !head.each_token && (head.classes == 1 || (head.compares_two && head.classes == 2));
}

// Returns the first head with one output that reads a pair of texts as one sequence. If there is none, returns the
// first head that compares two texts. Returns -1 if no head scores two texts.
int find_head(const Model& model) {
  int found = -1;
  for (int i = model.info().heads; i-- > 0;) {
    const HeadInfo head = model.head(i);
    if (!scores_two(head)) continue;
    if (!head.compares_two || found < 0 || model.head(found).compares_two) found = i;
  }
  return found;
}

float sigmoid(float x) { return static_cast<float>(1 / (1 + std::exp(-static_cast<double>(x)))); }

}  // namespace

struct Reranker::State {
  explicit State(TextRunner made) : runner(std::move(made)) {}

  // Returns the score of a pair. `values` are its logits, followed by its probabilities.
  float score_of(std::span<const float> values) const {
    const size_t classes = values.size() / 2;
    const float logit = classes == 1 ? values[0] : values[1] - values[0];
    if (logits) return logit;
    return has_own_activation ? values[1] : sigmoid(logit);
  }

  TextRunner runner;
  int head = 0;
  bool logits = false;              // Scores are logits and not probabilities.
  bool has_own_activation = false;  // The model applies its own activation in place of a sigmoid.
};

Reranker::Reranker(std::unique_ptr<State> state) : state_(std::move(state)) {}
Reranker::Reranker(Reranker&&) noexcept = default;
Reranker& Reranker::operator=(Reranker&&) noexcept = default;
Reranker::~Reranker() = default;

Result<Reranker> Reranker::create(std::shared_ptr<const Model> model, const RerankerOptions& options) {
  if (model == nullptr) return Status::error(Code::invalid_argument, "no model: load one first");
  if (model->info().vector_width > 0) {
    return Status::error(Code::unsupported, "this model reads vectors and no text: a cross-encoder reads two texts");
  }
  const int head = options.head < 0 ? find_head(*model) : options.head;
  if (head < 0) {
    return Status::error(Code::unsupported,
                         "this model has no head that scores two texts: a cross-encoder's has one output");
  }
  if (head >= model->info().heads) {
    return Status::error(Code::invalid_argument, "there is no head %d: the model has %d", head, model->info().heads);
  }
  const HeadInfo info = model->head(head);
  if (!scores_two(info)) {
    return Status::error(
        Code::invalid_argument,
        "head %d doesn't score documents: it has %lld outputs%s, and the head of a cross-encoder has one", head,
        static_cast<long long>(info.classes), info.each_token ? " for each token" : "");
  }
  const Output outputs[] = {Output::logits({}, head), Output::probabilities({}, head)};
  Result<TextRunner> runner = TextRunner::create(std::move(model), outputs, options.texts);
  if (!runner.ok()) return runner.status();
  std::unique_ptr<State> state(new (std::nothrow) State(std::move(*runner)));
  if (!state) return no_memory_to_rank();
  state->head = head;
  state->logits = options.logits;
  state->has_own_activation = info.kind == HeadKind::score;
  return Reranker(std::move(state));
}

Status Reranker::score(const TextList& pairs, Visit visit, void* context, const RunControl& control) {
  return state_->runner.run(
      pairs,
      [&](size_t index, const TextReport& report, std::span<const float> values) {
        const float none = std::numeric_limits<float>::quiet_NaN();
        return visit(context, index, report, values.empty() ? none : state_->score_of(values));
      },
      control);
}

Status Reranker::rank(std::string_view query, const TextList& documents, std::span<Scored> best, size_t* count,
                      const RunControl& control) {
  *count = 0;
  struct Pairs {
    std::string_view query;
    const TextList& documents;
  };
  const Pairs pairs = {query, documents};
  const TextList list(
      documents.size(),
      [](const void* context, size_t i) {
        const Pairs& given = *static_cast<const Pairs*>(context);
        return TextInput{given.query, given.documents[i].text, {}};
      },
      &pairs);
  Array<Scored> kept;
  Status failed;
  LINFORMER_TRY(score(
      list,
      [&](size_t index, const TextReport& report, float score) {
        if (!report.status.ok()) {
          failed = Status::error(report.status.code(), "document %zu: %s", index, report.status.message());
          return false;
        }
        const Scored scored = {static_cast<int64_t>(index), score};
        int64_t dropped = -1;
        if (belongs_in_heap(kept, best.size(), scored) && !try_push_best(&kept, best.size(), scored, &dropped)) {
          failed = no_memory_to_rank();
        }
        return failed.ok();
      },
      control));
  LINFORMER_TRY(failed);
  std::sort_heap(kept.begin(), kept.end(), is_better);
  std::copy(kept.begin(), kept.end(), best.begin());
  *count = kept.size();
  return {};
}

int Reranker::head() const { return state_->head; }
int64_t Reranker::max_tokens() const { return state_->runner.max_tokens(); }
size_t Reranker::texts_at_once() const { return state_->runner.texts_at_once(); }
std::span<const Session> Reranker::sessions() const { return state_->runner.sessions(); }

}  // namespace LINFORMER_NAMESPACE
