// Runs a model of any kind with all outputs, and compares the outputs of two runs.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <vector>

#include "base/description.h"
#include "session/variants.h"
#include "support/outputs.h"

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
  options.memory.max_batch = static_cast<int64_t>(texts.size());
  if (variant.shape.decoder) options.run.part = Part::decoder;
  Result<Session> session = Session::create(model, options);
  REQUIRE_MESSAGE(session.ok(), std::string(session.status().message()));
  std::vector<Input> inputs;
  for (const RandomInput& text : texts) inputs.push_back(text.view());
  Answer answer;
  std::vector<Output> outputs;
  add_output(*session, inputs, Output::hidden({}), &answer.hidden, &outputs);
  add_output(*session, inputs, Output::pooled({}, Pooling::mean), &answer.pooled, &outputs);
  add_output(*session, inputs, Output::embeddings({}), &answer.embeddings, &outputs);
  add_output(*session, inputs, Output::logits({}), &answer.logits, &outputs);
  add_output(*session, inputs, Output::probabilities({}), &answer.probabilities, &outputs);
  const Status status = session->run(inputs, outputs);
  REQUIRE_MESSAGE(status.ok(), std::string(status.message()));
  return answer;
}

// Returns random texts for the model of `variant`, one for each length. A length is in rows, and is reduced to at most
// one less than the model takes.
inline std::vector<RandomInput> random_texts(const linformer::Model& model, const Variant& variant,
                                             const std::vector<int64_t>& lengths) {
  const linformer::ModelDescription& description = model.description();
  const linformer::EncoderDescription& encoder = variant.shape.decoder ? description.decoder : description.encoder;
  std::vector<RandomInput> texts;
  for (const int64_t length : lengths) {
    const int64_t rows = std::min(length, int64_t{encoder.max_tokens} - 1);
    texts.push_back(random_input(texts.size() + 1, encoder, rows, 17, variant.masks));
  }
  return texts;
}

inline double max_relative_difference(const std::vector<float>& a, const std::vector<float>& b) {
  double worst = 0, largest = 1;
  for (size_t i = 0; i < a.size(); ++i) {
    const double x = std::abs(static_cast<double>(a[i]) - static_cast<double>(b[i]));
    if (!(x <= worst)) worst = x;  // The condition is also true for NaN.
    largest = std::max(largest, static_cast<double>(std::abs(a[i])));
  }
  return worst / largest;
}

}  // namespace linformer_test
