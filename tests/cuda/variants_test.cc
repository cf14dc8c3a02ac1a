// Every kind of model on a device, beside the CPU's scalar kernels; threads are played in both orders.
#include "session/variants.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>

#include "cuda/grid.h"
#include "support/engines.h"

namespace {

using namespace linformer;
using linformer_test::RandomInput;
using linformer_test::Variant;

struct Answer {
  std::vector<float> hidden, logits, probabilities, embeddings, pooled;
  std::vector<const std::vector<float>*> all() const {
    return {&hidden, &logits, &probabilities, &embeddings, &pooled};
  }
};

Answer run(const std::shared_ptr<const Model>& model, const Variant& variant, int device, Padding padding,
           const std::vector<RandomInput>& texts) {
  SessionOptions options;
  options.device = device;
  options.max_batch = static_cast<int64_t>(texts.size());
  options.padding = padding;
  options.isa = Isa::scalar;
  if (device < 0) options.compute = Compute::f32;
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

double difference(const std::vector<float>& a, const std::vector<float>& b) {
  double worst = 0, largest = 1;
  for (size_t i = 0; i < a.size(); ++i) {
    const double x = std::abs(static_cast<double>(a[i]) - static_cast<double>(b[i]));
    if (!(x <= worst)) worst = x;  // NaN counts as worst
    largest = std::max(largest, static_cast<double>(std::abs(a[i])));
  }
  return worst / largest;
}

TEST_CASE("models of every kind on a device") {
  if (linformer_test::engines().empty()) return;
  // 2^-11 and 2^-8 are half a unit of f16 and bf16; a dozen products follow one another.
  for (const auto& [type, limit] : {std::pair{ElementType::f32, 5e-6}, std::pair{ElementType::f16, 5e-3},
                                    std::pair{ElementType::bf16, 4e-2}, std::pair{ElementType::int8, 5e-3}}) {
    double worst = 0;
    for (Variant variant : linformer_test::variants(45)) {
      variant.shape.type = type;
      CAPTURE(variant.name);
      CAPTURE(std::string(name_of(type)));
      const auto model = linformer_test::random_model(variant.shape);
      const EncoderDescription& encoder =
          variant.shape.decoder ? model->description().decoder : model->description().encoder;
      std::vector<RandomInput> texts;
      for (int64_t length : {45, 3, 20, 20, 44, 1}) {
        const int64_t rows = std::min<int64_t>(length, int64_t{encoder.max_tokens} - 1);
        texts.push_back(linformer_test::random_input(texts.size() + 1, encoder, rows, 17, variant.masks));
      }
      for (Padding padding : {Padding::strip, Padding::keep}) {
        const Answer cpu = run(model, variant, -1, padding, texts), device = run(model, variant, 0, padding, texts);
#if defined(LINFORMER_CUDA_PLAYED)
        cuda::Played::backwards = true;
        const Answer backwards = run(model, variant, 0, padding, texts);
        cuda::Played::backwards = false;
#else
        const Answer backwards = run(model, variant, 0, padding, texts);  // again
#endif
        for (size_t i = 0; i < cpu.all().size(); ++i) {
          const std::vector<float>&a = *cpu.all()[i], &b = *device.all()[i], &c = *backwards.all()[i];
          const double x = difference(a, b);
          CHECK(x <= limit);
          worst = std::max(worst, x);
          CHECK((b.empty() || std::memcmp(b.data(), c.data(), b.size() * sizeof(float)) == 0));
        }
      }
    }
    std::printf("%s: largest difference to the CPU, of the largest value: %.2g\n", name_of(type), worst);
  }
}

}  // namespace
