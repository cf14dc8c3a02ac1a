#include "linformer/zero_shot.h"

#include <algorithm>
#include <cmath>
#include <new>

#include "base/array.h"
#include "linformer/text_runner.h"

namespace LINFORMER_NAMESPACE {
namespace {

Status no_memory_for_zero_shot() { return Status::error(Code::out_of_memory, "no memory for a zero-shot classifier"); }

// Returns whether `name` begins with `start`, in upper or lower case. `start` is in lower case.
bool begins_with(std::string_view name, std::string_view start) {
  if (name.size() < start.size()) return false;
  return std::equal(start.begin(), start.end(), name.begin(), [](char wanted, char c) {
    return c == wanted || (c >= 'A' && c <= 'Z' && c - 'A' + 'a' == wanted);
  });
}

// Returns whether `name` is like "LABEL_0", which transformers writes for classes without names.
bool is_generic(std::string_view name) { return begins_with(name, "label_"); }

// Returns the index of the class for entailment. If no class has a name, it is the last class.
Result<int64_t> find_entailment(const Model& model, int head) {
  const HeadInfo info = model.head(head);
  if (info.each_token || info.compares_two || info.classes < 2) {
    return Status::error(
        Code::unsupported,
        "this head %s: zero-shot labels need a model for natural language inference, with classes such "
        "as contradiction, neutral and entailment",
        info.each_token     ? "scores each token"
        : info.compares_two ? "reads two texts separately"
                            : "has one output");
  }
  bool named = false;
  for (int64_t i = 0; i < info.classes && info.has_labels; ++i) {
    const std::string_view name = model.label(head, i);
    if (begins_with(name, "entail")) return i;
    named = named || !is_generic(name);
  }
  if (!named) return info.classes - 1;
  const std::string_view first = model.label(head, 0);
  return Status::error(Code::unsupported,
                       "no class of this head says entailment (the first one is '%.*s'): zero-shot labels need a model "
                       "for natural language inference",
                       static_cast<int>(std::min<size_t>(first.size(), 64)), first.data());
}

Status check_hypothesis(std::string_view hypothesis) {
  const size_t place = hypothesis.find("{}");
  if (place != std::string_view::npos && hypothesis.find_first_of("{}") == place &&
      hypothesis.find_first_of("{}", place + 2) == std::string_view::npos) {
    return {};
  }
  return Status::error(Code::invalid_argument,
                       "the hypothesis '%.*s' doesn't say where a label goes: write {} there, once, and no other brace",
                       static_cast<int>(std::min<size_t>(hypothesis.size(), 100)), hypothesis.data());
}

}  // namespace

struct ZeroShotClassifier::State {
  explicit State(TextRunner made) : runner(std::move(made)) {}

  Status add_sentence(std::string_view hypothesis, std::string_view label);
  void take(size_t label, std::span<const float> logits);
  void decide();

  TextRunner runner;
  Array<String> sentences;  // The hypothesis with each label in place of {}.
  int64_t entailment = 0, contradiction = 0;
  bool multi_label = false;
  // The scores of the current text. The model scores one label at a time, so they arrive one by one.
  TextReport report;
  Array<double> entails;  // For each label the logit of entailment, or with multi_label its probability.
  Array<LabelScore> scores;
};

ZeroShotClassifier::ZeroShotClassifier(std::unique_ptr<State> state) : state_(std::move(state)) {}
ZeroShotClassifier::ZeroShotClassifier(ZeroShotClassifier&&) noexcept = default;
ZeroShotClassifier& ZeroShotClassifier::operator=(ZeroShotClassifier&&) noexcept = default;
ZeroShotClassifier::~ZeroShotClassifier() = default;

Result<ZeroShotClassifier> ZeroShotClassifier::create(std::shared_ptr<const Model> model,
                                                      const ZeroShotOptions& options) {
  if (model == nullptr) return Status::error(Code::invalid_argument, "no model: load one first");
  if (model->info().vector_width > 0) {
    return Status::error(Code::unsupported,
                         "this model reads vectors and no text: zero-shot labels need a model for natural language "
                         "inference");
  }
  if (options.labels.empty()) return Status::error(Code::invalid_argument, "no labels: give at least one");
  if (options.labels.size() > max_classes) {
    return Status::error(Code::invalid_argument, "%zu labels: give at most %u", options.labels.size(), max_classes);
  }
  LINFORMER_TRY(check_hypothesis(options.hypothesis));
  if (options.head < 0 || options.head >= model->info().heads) {
    if (model->info().heads == 0) {
      return Status::error(Code::unsupported,
                           "this model has no classification head: zero-shot labels need a model for natural language "
                           "inference");
    }
    return Status::error(Code::invalid_argument, "there is no head %d: the model has %d", options.head,
                         model->info().heads);
  }
  const Result<int64_t> entailment = find_entailment(*model, options.head);
  if (!entailment.ok()) return entailment.status();
  const int64_t classes = model->head(options.head).classes;
  TextOptions texts = options.texts;
  texts.truncation = Truncation::only_first;
  const Output output = Output::logits({}, options.head);
  Result<TextRunner> runner = TextRunner::create(std::move(model), {&output, 1}, texts);
  if (!runner.ok()) return runner.status();
  std::unique_ptr<State> state(new (std::nothrow) State(std::move(*runner)));
  if (!state) return no_memory_for_zero_shot();
  state->entailment = *entailment;
  state->contradiction = *entailment == 0 ? classes - 1 : 0;
  state->multi_label = options.multi_label || options.labels.size() == 1;
  for (const std::string_view label : options.labels) LINFORMER_TRY(state->add_sentence(options.hypothesis, label));
  if (!state->entails.try_resize(options.labels.size()) || !state->scores.try_resize(options.labels.size())) {
    return no_memory_for_zero_shot();
  }
  return ZeroShotClassifier(std::move(state));
}

Status ZeroShotClassifier::State::add_sentence(std::string_view hypothesis, std::string_view label) {
  if (label.empty()) {
    return Status::error(Code::invalid_argument, "label %zu is empty: leave it out, or name it", sentences.size());
  }
  const size_t place = hypothesis.find("{}");
  const std::string_view end = hypothesis.substr(place + 2);
  Array<char> text;
  String sentence;
  if (!text.try_append(hypothesis.data(), place) || !text.try_append(label.data(), label.size()) ||
      !text.try_append(end.data(), end.size()) || !sentence.try_assign({text.data(), text.size()}) ||
      !sentences.try_push(std::move(sentence))) {
    return no_memory_for_zero_shot();
  }
  return {};
}

Status ZeroShotClassifier::classify(const TextList& texts, Visit visit, void* context, const RunControl& control) {
  State& s = *state_;
  struct Pairs {
    const State& state;
    const TextList& texts;
  };
  const Pairs pairs = {s, texts};
  const size_t count = s.sentences.size();
  if (texts.size() > SIZE_MAX / count) {
    return Status::error(Code::too_long, "%zu texts with %zu labels each are too many for one call: give fewer",
                         texts.size(), count);
  }
  const TextList list(
      texts.size() * count,
      [](const void* given, size_t i) {
        const Pairs& all = *static_cast<const Pairs*>(given);
        const size_t labels = all.state.sentences.size();
        return TextInput{all.texts[i / labels].text, all.state.sentences[i % labels].view(), {}};
      },
      &pairs);
  return s.runner.run(
      list,
      [&](size_t index, const TextReport& report, std::span<const float> logits) {
        const size_t label = index % count;
        // A text has one report for all its labels: the first error or, if there is none, the report of the longest
        // pair.
        if (label == 0 ||
            (s.report.status.ok() && (!report.status.ok() || report.total_tokens > s.report.total_tokens))) {
          s.report = report;
        }
        if (!logits.empty()) s.take(label, logits);
        if (label + 1 < count) return true;
        const bool good = s.report.status.ok();
        if (good) s.decide();
        return visit(context, index / count,
                     ZeroShotClassification{s.report, good ? s.scores.span() : std::span<const LabelScore>()});
      },
      control);
}

void ZeroShotClassifier::State::take(size_t label, std::span<const float> logits) {
  const double entails_it = static_cast<double>(logits[static_cast<size_t>(entailment)]);
  const double contradicts = static_cast<double>(logits[static_cast<size_t>(contradiction)]);
  entails[label] = multi_label ? 1 / (1 + std::exp(contradicts - entails_it)) : entails_it;
}

void ZeroShotClassifier::State::decide() {
  double sum = 1, most = 0;
  if (!multi_label) {
    most = *std::max_element(entails.begin(), entails.end());
    sum = 0;
    for (const double logit : entails) sum += std::exp(logit - most);
  }
  for (size_t i = 0; i < entails.size(); ++i) {
    const double probability = multi_label ? entails[i] : std::exp(entails[i] - most) / sum;
    scores[i] = {i, static_cast<float>(probability)};
  }
  std::sort(scores.begin(), scores.end(), [this](const LabelScore& a, const LabelScore& b) {
    return entails[a.label] != entails[b.label] ? entails[a.label] > entails[b.label] : a.label < b.label;
  });
}

size_t ZeroShotClassifier::labels() const { return state_->sentences.size(); }
int64_t ZeroShotClassifier::entailment() const { return state_->entailment; }
int64_t ZeroShotClassifier::max_tokens() const { return state_->runner.max_tokens(); }
size_t ZeroShotClassifier::texts_at_once() const {
  return std::max<size_t>(1, state_->runner.texts_at_once() / state_->sentences.size());
}
std::span<const Session> ZeroShotClassifier::sessions() const { return state_->runner.sessions(); }

}  // namespace LINFORMER_NAMESPACE
