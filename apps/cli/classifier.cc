#include "classifier.h"

#include <cmath>

#include "errors.h"

namespace linformer::cli {

Classifier::Classifier(std::shared_ptr<const Model> model, std::optional<Tokenizer> tokenizer,
                       const PipelineOptions& options, std::vector<int> heads, Sink sink)
    : heads_(std::move(heads)),
      texts_each_(options.sequences.apart ? 2 : 1),
      values_(heads_.size()),
      pipeline_(
          model, std::move(tokenizer), options,
          [this](Session* session, std::span<const Input> inputs, std::span<Job* const> owners) {
            run(session, inputs, owners);
          },
          [sink = std::move(sink)](Job& job) { sink(static_cast<Answer&>(job)); }) {
  for (const int head : heads_) classes_.push_back(class_labels(*model, head).size());
}

void Classifier::run(Session* session, std::span<const Input> inputs, std::span<Job* const> owners) {
  const size_t rows = inputs.size() / texts_each_;
  outputs_.clear();
  for (size_t h = 0; h < heads_.size(); ++h) {
    values_[h].logits.resize(rows * classes_[h]);
    values_[h].probabilities.resize(rows * classes_[h]);
    outputs_.push_back({heads_[h], values_[h].logits, values_[h].probabilities});
  }
  Outputs outputs;
  outputs.scores = outputs_;
  check(session->run(inputs, outputs));
  for (size_t row = 0; row < rows; ++row) {
    Answer& answer = static_cast<Answer&>(*owners[row * texts_each_]);
    const float share = 1.f / static_cast<float>(answer.windows);
    answer.heads.resize(heads_.size());
    for (size_t h = 0; h < heads_.size(); ++h) {
      Scores& scores = answer.heads[h];
      scores.logits.resize(classes_[h]);
      scores.probabilities.resize(classes_[h]);
      for (size_t c = 0; c < classes_[h]; ++c) {
        const float logit = values_[h].logits[row * classes_[h] + c];
        const float probability = values_[h].probabilities[row * classes_[h] + c];
        if (!std::isfinite(logit) || !std::isfinite(probability)) {
          answer.error = "the model gave a number that is not finite; check its weights";
        }
        scores.logits[c] += answer.windows == 1 ? logit : share * logit;
        scores.probabilities[c] += answer.windows == 1 ? probability : share * probability;
      }
    }
  }
}

}  // namespace linformer::cli
