// Tests TextRunner, which computes several outputs of texts in one call.
#include "linformer/text_runner.h"

#include <doctest/doctest.h>

#include <vector>

#include "linformer/classifier.h"
#include "linformer/embedder.h"
#include "pipeline/sentences.h"

namespace linformer_test::text_runner_test {
namespace {

using namespace linformer;

SentimentModel shape() {
  SentimentModel made;
  made.embedding = true;
  made.more_heads = true;
  return made;
}

TEST_CASE("several outputs of one call have the bits of a classifier and an embedder") {
  const CliFixture f(shape());
  const std::shared_ptr<const Model> model = *Model::load(f.model().c_str());
  const std::vector<std::string> sentences = random_sentences(300, 25, 11);
  for (const int threads : {1, 3}) {
    TextOptions texts;
    texts.cpu.threads = threads;
    texts.on_long = OnLong::window;
    const Output outputs[] = {Output::pooled({}, Pooling::max), Output::logits({}, 1), Output::embeddings({})};
    Result<TextRunner> runner = TextRunner::create(model, outputs, texts);
    REQUIRE_MESSAGE(runner.ok(), runner.status().message());
    CHECK(runner->columns(0) == sentiment_width);
    CHECK(runner->columns(1) == 4);
    CHECK(runner->columns(2) == sentiment_width);
    CHECK(runner->columns(3) == 0);
    CHECK(runner->max_tokens() == 12);
    const int head[] = {1};
    Classifier classifier = std::move(*Classifier::create(model, {texts, head}));
    Embedder embedder = std::move(*Embedder::create(model, {texts, Pooling::max, {}}));
    std::vector<std::vector<float>> logits, vectors;
    REQUIRE(classifier
                .classify(views_of(sentences),
                          [&](size_t, const Classification& made) {
                            logits.emplace_back(made.logits().begin(), made.logits().end());
                            return true;
                          })
                .ok());
    REQUIRE(embedder
                .embed(views_of(sentences),
                       [&](size_t, const TextReport&, std::span<const float> vector) {
                         vectors.emplace_back(vector.begin(), vector.end());
                         return true;
                       })
                .ok());
    size_t next = 0;
    const Status status =
        runner->run(views_of(sentences), [&](size_t index, const TextReport& report, std::span<const float> values) {
          REQUIRE(index == next++);
          REQUIRE(report.status.ok());
          REQUIRE(values.size() == 2 * sentiment_width + 4);
          const auto pooled = values.first(sentiment_width), scores = values.subspan(sentiment_width, 4);
          CHECK(std::equal(pooled.begin(), pooled.end(), vectors[index].begin()));
          CHECK(std::equal(scores.begin(), scores.end(), logits[index].begin()));
          return true;
        });
    CHECK_MESSAGE(status.ok(), status.message());
    CHECK(next == sentences.size());
  }
}

TEST_CASE("outputs without a row for each text are refused") {
  const CliFixture f(shape());
  const std::shared_ptr<const Model> model = *Model::load(f.model().c_str());
  const int words = model->find_head("words"), better = model->find_head("better");
  REQUIRE(words >= 0);
  const auto code = [&](std::vector<Output> outputs) { return TextRunner::create(model, outputs).status().code(); };
  CHECK(code({Output::pooled({})}) == Code::ok);
  CHECK(code({Output::logits({}, better), Output::probabilities({}, better)}) == Code::ok);
  CHECK(code({}) == Code::invalid_argument);
  CHECK(code({Output::hidden({})}) == Code::invalid_argument);
  CHECK(code({Output::masked_lm({}, {})}) == Code::invalid_argument);
  CHECK(code({Output::logits({}, words)}) == Code::invalid_argument);
  CHECK(code({Output::logits({}, 99)}) == Code::invalid_argument);
  CHECK(code({Output::logits({}, better), Output::pooled({})}) == Code::invalid_argument);
  const Output output = Output::pooled({});
  CHECK(TextRunner::create(nullptr, {&output, 1}).status().code() == Code::invalid_argument);
}

}  // namespace
}  // namespace linformer_test::text_runner_test
