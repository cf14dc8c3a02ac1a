#include "models/text_scorer.h"

namespace linformer::cli {

TextScorer make_head_scorer(const std::shared_ptr<const Model>& model, const ClassifierOptions& options) {
  Result<Classifier> made = Classifier::create(model, options);
  if (!made.ok()) throw_creation_error(made.status());
  const auto classifier = std::make_shared<Classifier>(std::move(made.value()));
  TextScorer scorer;
  scorer.compute = [classifier](std::span<const TextInput> inputs, const TextQueue::Answer& answer) {
    return classifier->classify(
        inputs, [&](size_t i, const Classification& said) { return answer(i, said.report, said.values); });
  };
  scorer.sessions = [classifier] { return classifier->sessions(); };
  scorer.max_tokens = classifier->max_tokens();
  scorer.texts_at_once = classifier->texts_at_once();
  return scorer;
}

TextScorer make_label_scorer(const std::shared_ptr<const Model>& model, const ZeroShotOptions& options) {
  Result<ZeroShotClassifier> made = ZeroShotClassifier::create(model, options);
  if (!made.ok()) throw_creation_error(made.status());
  const auto classifier = std::make_shared<ZeroShotClassifier>(std::move(made.value()));
  TextScorer scorer;
  scorer.compute = [classifier](std::span<const TextInput> inputs, const TextQueue::Answer& answer) {
    const size_t labels = classifier->labels();
    std::vector<float> values(2 * labels);
    return classifier->classify(inputs, [&](size_t i, const ZeroShotClassification& said) {
      for (const LabelScore& score : said.scores)
        values[score.label] = values[labels + score.label] = score.probability;
      return answer(i, said.report, said.scores.empty() ? std::span<const float>() : values);
    });
  };
  scorer.sessions = [classifier] { return classifier->sessions(); };
  scorer.max_tokens = classifier->max_tokens();
  scorer.texts_at_once = classifier->texts_at_once();
  return scorer;
}

}  // namespace linformer::cli
