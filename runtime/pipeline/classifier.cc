#include "linformer/classifier.h"

#include <algorithm>
#include <new>

#include "base/array.h"
#include "linformer/text_runner.h"
#include "pipeline/rows.h"

namespace LINFORMER_NAMESPACE {

struct Classifier::State {
  explicit State(TextRunner made) : runner(std::move(made)) {}

  TextRunner runner;
  Array<int64_t> classes;  // The number of classes of each head.
};

Classifier::Classifier(std::unique_ptr<State> state) : state_(std::move(state)) {}
Classifier::Classifier(Classifier&&) noexcept = default;
Classifier& Classifier::operator=(Classifier&&) noexcept = default;
Classifier::~Classifier() = default;

Result<Classifier> Classifier::create(std::shared_ptr<const Model> model, const ClassifierOptions& options) {
  const Status no_memory = Status::error(Code::out_of_memory, "no memory for a classifier");
  if (options.heads.size() > Outputs::most / 2) {
    return Status::error(Code::invalid_argument, "%zu heads: ask for at most %zu", options.heads.size(),
                         Outputs::most / 2);
  }
  constexpr int first_head[] = {0};
  Array<Output> outputs;
  for (const int head : options.heads.empty() ? std::span<const int>(first_head) : options.heads) {
    if (!outputs.try_push(Output::logits({}, head)) || !outputs.try_push(Output::probabilities({}, head))) {
      return no_memory;
    }
  }
  Result<TextRunner> runner = TextRunner::create(std::move(model), outputs.span(), options.texts);
  if (!runner.ok()) return runner.status();
  std::unique_ptr<State> state(new (std::nothrow) State(std::move(*runner)));
  if (!state) return no_memory;
  for (size_t i = 0; i < outputs.size(); i += 2) {
    if (!state->classes.try_push(state->runner.columns(i))) return no_memory;
  }
  return Classifier(std::move(state));
}

Status Classifier::classify(const TextList& texts, std::span<float> probabilities, const RunControl& control) {
  const size_t width = static_cast<size_t>(classes());
  const auto row = [&](const TextReport&, std::span<const float> values) { return values.subspan(width, width); };
  return run_to_rows(state_->runner, texts, probabilities, width, "probabilities", row, control);
}

Status Classifier::classify(const TextList& texts, Visit visit, void* context, const RunControl& control) {
  return state_->runner.run(
      texts,
      [&](size_t index, const TextReport& report, std::span<const float> values) {
        return visit(context, index, Classification{report, values, state_->classes.span()});
      },
      control);
}

int64_t Classifier::classes(size_t head) const { return head < state_->classes.size() ? state_->classes[head] : 0; }
int64_t Classifier::max_tokens() const { return state_->runner.max_tokens(); }
size_t Classifier::texts_at_once() const { return state_->runner.texts_at_once(); }
std::span<const Session> Classifier::sessions() const { return state_->runner.sessions(); }

}  // namespace LINFORMER_NAMESPACE
