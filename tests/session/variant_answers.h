// What a model of any kind answers, and how far two answers are from one another.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <vector>

#include "session/variants.h"

namespace linformer_test {

struct Answer {
  std::vector<float> hidden, logits, probabilities, embeddings, pooled;
  std::vector<const std::vector<float>*> all() const {
    return {&hidden, &logits, &probabilities, &embeddings, &pooled};
  }
};

inline Answer run(const std::shared_ptr<const linformer::Model>& model, const Variant& variant,
                  linformer::SessionOptions options, const std::vector<RandomInput>& texts) {
  using namespace linformer;
  options.max_batch = static_cast<int64_t>(texts.size());
  if (variant.shape.decoder) options.part = Part::decoder;
  Result<Session> session = Session::create(model, options);
  REQUIRE_MESSAGE(session.ok(), std::string(session.status().message()));
  const ModelDescription& description = model->description();
  const uint32_t width = description.encoder.embedding.vectors.width;
  std::vector<Input> inputs;
  int64_t rows = 0;
  for (const RandomInput& text : texts) {
    inputs.push_back(text.view());
    rows += session->output_rows(
        static_cast<int64_t>(text.tokens.empty() ? text.vectors.size() / width : text.tokens.size()));
  }
  const size_t count = texts.size(), d = static_cast<size_t>(session->hidden_width(-1));
  const auto classes = description.tensors[static_cast<size_t>(description.heads[0].output.weight)].shape[0];
  const size_t scores = static_cast<size_t>(session->score_rows(0, options.max_batch, rows)) * classes;
  Answer answer;
  answer.hidden.assign(static_cast<size_t>(rows) * d, NAN);
  answer.pooled.assign(count * d, NAN);
  answer.embeddings.assign(count * static_cast<size_t>(session->embedding_width()), NAN);
  answer.logits.assign(scores, NAN);
  answer.probabilities = answer.logits;
  Outputs outputs;
  outputs.hidden = answer.hidden;
  outputs.pooled = answer.pooled;
  outputs.pooling = Pooling::mean;
  outputs.embeddings = answer.embeddings;
  outputs.logits = answer.logits;
  outputs.probabilities = answer.probabilities;
  const Status status = session->run(inputs, outputs);
  REQUIRE_MESSAGE(status.ok(), std::string(status.message()));
  return answer;
}

inline double difference(const std::vector<float>& a, const std::vector<float>& b) {
  double worst = 0, largest = 1;
  for (size_t i = 0; i < a.size(); ++i) {
    const double x = std::abs(static_cast<double>(a[i]) - static_cast<double>(b[i]));
    if (!(x <= worst)) worst = x;  // NaN counts as worst
    largest = std::max(largest, static_cast<double>(std::abs(a[i])));
  }
  return worst / largest;
}

}  // namespace linformer_test
