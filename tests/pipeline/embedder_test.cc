#include "linformer/embedder.h"

#include <doctest/doctest.h>

#include <cmath>
#include <cstring>

#include "pipeline/sentences.h"

namespace linformer_test::embedder_test {
namespace {

using namespace linformer;

double length(std::span<const float> vector) {
  double squares = 0;
  for (const float value : vector) squares += static_cast<double>(value) * static_cast<double>(value);
  return std::sqrt(squares);
}

std::shared_ptr<const Model> load(const CliFixture& f) { return *Model::load(f.model().c_str()); }

std::vector<float> embedded(const std::shared_ptr<const Model>& model, const EmbedderOptions& options,
                            const std::vector<std::string>& texts) {
  Result<Embedder> made = Embedder::create(model, options);
  REQUIRE_MESSAGE(made.ok(), made.status().message());
  std::vector<float> vectors(texts.size() * static_cast<size_t>(made->width()));
  const Status status = made->embed(views_of(texts), vectors);
  REQUIRE_MESSAGE(status.ok(), status.message());
  return vectors;
}

TEST_CASE("an embedder uses the model's pooling or the requested one, with the same bits in any number of threads") {
  SentimentModel shape;
  shape.embedding = true;
  const CliFixture f(shape);
  const auto model = load(f);
  const std::vector<std::string> texts = random_sentences(300, 9, 2);
  const std::vector<float> own = embedded(model, {}, texts);
  REQUIRE(own.size() == texts.size() * sentiment_width);
  for (size_t i = 0; i < texts.size(); ++i) {
    CHECK(length(std::span(own).subspan(i * sentiment_width, sentiment_width)) == doctest::Approx(1).epsilon(1e-5));
  }
  EmbedderOptions options;
  options.texts.cpu.threads = 2;
  CHECK(embedded(model, options, texts) == own);
  options.normalize = false;
  const std::vector<float> plain = embedded(model, options, texts);
  options.pooling = Pooling::mean;
  CHECK(embedded(model, options, texts) == plain);
  options.normalize = true;
  const std::vector<float> divided = embedded(model, options, texts);
  for (size_t i = 0; i < own.size(); ++i) CHECK(divided[i] == doctest::Approx(own[i]).epsilon(1e-5));
}

TEST_CASE("the mean over windows is normalised again") {
  SentimentModel shape;
  shape.embedding = true;
  const CliFixture f(shape);
  EmbedderOptions options;
  options.texts.on_long = OnLong::window;
  std::string text;
  for (int i = 0; i < 60; ++i) text += i % 3 == 0 ? "good " : "plot ";
  const std::vector<float> vector = embedded(load(f), options, {text});
  CHECK(length(vector) == doctest::Approx(1).epsilon(1e-5));
}

TEST_CASE("a model without sentence-embedding settings needs a pooling") {
  const CliFixture f;
  CHECK(Embedder::create(load(f)).status().code() == Code::invalid_argument);
  EmbedderOptions options;
  options.pooling = Pooling::max;
  CHECK(Embedder::create(load(f), options).ok());
  options.pooling = Pooling::none;
  CHECK(Embedder::create(load(f), options).status().code() == Code::invalid_argument);
}

}  // namespace
}  // namespace linformer_test::embedder_test
