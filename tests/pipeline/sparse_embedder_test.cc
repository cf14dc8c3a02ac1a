#include "linformer/sparse_embedder.h"

#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "pipeline/created.h"
#include "pipeline/loaded_model.h"
#include "pipeline/sentences.h"

namespace linformer_test::sparse_embedder_test {
namespace {

using namespace linformer;

SparseEmbedder make(const LoadedModel& loaded, const SparseEmbedderOptions& options = {}) {
  return created(SparseEmbedder::create(loaded.model, options));
}

// Returns the weight of each token of the vocabulary, computed from a session's logits for one text.
std::vector<float> session_result(const LoadedModel& loaded, Session* session, const std::string& text) {
  const Tokenizer tokenizer = std::move(*Tokenizer::create(loaded.model));
  EncodeOptions options;
  options.max_length = loaded.model->info().max_tokens;
  Encoding encoding;
  REQUIRE(tokenizer.encode(text, options, &encoding).ok());
  std::vector<MaskPosition> positions;
  for (size_t i = 0; i < encoding.ids().size(); ++i) positions.push_back({0, static_cast<int64_t>(i)});
  std::vector<float> logits(positions.size() * 13), weights(13);
  const Tokens texts[] = {encoding.ids()};
  REQUIRE(session->run(texts, {Output::masked_lm(logits, positions)}).ok());
  for (size_t i = 0; i < logits.size(); ++i) weights[i % 13] = std::max(weights[i % 13], logits[i]);
  for (float& weight : weights) weight = std::log1p(weight);
  return weights;
}

TEST_CASE("sparse vectors follow from a session's largest logits, with the same bits in any threads and batches") {
  const LoadedModel loaded;
  const std::vector<std::string> sentences = random_sentences(120, 20, 8);
  Session session = std::move(*Session::create(loaded.model, {}));
  std::vector<std::vector<float>> expected;
  for (const std::string& sentence : sentences) expected.push_back(session_result(loaded, &session, sentence));
  for (const int threads : {1, 3}) {
    for (const int64_t batch : {1, 7, 64}) {
      CAPTURE(threads);
      CAPTURE(batch);
      SparseEmbedderOptions options;
      options.texts.cpu.threads = threads;
      options.texts.max_batch = batch;
      SparseEmbedder embedder = make(loaded, options);
      CHECK(embedder.vocabulary() == 13);
      size_t next = 0;
      const Status status = embedder.embed(
          views_of(sentences), [&](size_t index, const TextReport& report, std::span<const TokenWeight> tokens) {
            CHECK(index == next++);
            CHECK(report.status.ok());
            std::vector<float> weights(13);
            for (size_t i = 0; i < tokens.size(); ++i) {
              weights[static_cast<size_t>(tokens[i].id)] = tokens[i].weight;
              if (i == 0) continue;
              const bool ordered = tokens[i].weight < tokens[i - 1].weight ||
                                   (tokens[i].weight == tokens[i - 1].weight && tokens[i].id > tokens[i - 1].id);
              CHECK(ordered);
            }
            CHECK(std::memcmp(weights.data(), expected[index].data(), sizeof(float) * 13) == 0);
            return true;
          });
      CHECK_MESSAGE(status.ok(), status.message());
      CHECK(next == sentences.size());
    }
  }
}

TEST_CASE("texts with errors keep their place among sparse vectors, and a visitor that returns false stops the call") {
  const LoadedModel loaded;
  SparseEmbedderOptions options;
  options.texts.on_long = OnLong::error;
  SparseEmbedder embedder = make(loaded, options);
  std::string longer;
  for (int i = 0; i < 30; ++i) longer += "good ";
  const std::vector<std::string_view> texts = {"good", longer, "bad", "", longer, "film"};
  size_t next = 0;
  CHECK(embedder
            .embed(texts,
                   [&](size_t index, const TextReport& report, std::span<const TokenWeight> tokens) {
                     CHECK(index == next++);
                     const bool bad = index == 1 || index == 4;
                     CHECK((report.status.code() == Code::too_long) == bad);
                     CHECK(tokens.empty() == bad);
                     return true;
                   })
            .ok());
  CHECK(next == texts.size());
  next = 0;
  CHECK(
      embedder.embed(texts, [&](size_t, const TextReport&, std::span<const TokenWeight>) { return ++next < 3; }).ok());
  CHECK(next == 3);
}

TEST_CASE("non-finite numbers are an error of the text, and windows are an error of the sparse embedder") {
  SentimentModel shape;
  shape.not_finite = true;
  const LoadedModel loaded(shape);
  SparseEmbedder embedder = make(loaded);
  const std::vector<std::string_view> texts = {"good", "the plot", "bad"};
  size_t errors = 0;
  CHECK(embedder
            .embed(texts,
                   [&](size_t index, const TextReport& report, std::span<const TokenWeight>) {
                     errors += report.status.ok() ? 0 : 1;
                     CHECK(report.status.ok() == (index != 1));
                     return true;
                   })
            .ok());
  CHECK(errors == 1);
  SparseEmbedderOptions options;
  options.texts.on_long = OnLong::window;
  CHECK(SparseEmbedder::create(loaded.model, options).status().code() == Code::invalid_argument);
  CHECK(SparseEmbedder::create(nullptr).status().code() == Code::invalid_argument);
}

}  // namespace
}  // namespace linformer_test::sparse_embedder_test
