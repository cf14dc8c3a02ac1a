#include "linformer/reranker.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include "linformer/classifier.h"
#include "pipeline/created.h"
#include "pipeline/loaded_model.h"
#include "pipeline/sentences.h"

namespace linformer_test::reranker_test {
namespace {

using namespace linformer;

SentimentModel scores() {
  SentimentModel shape;
  shape.numbers = true;
  return shape;
}

Reranker make(const LoadedModel& loaded, const RerankerOptions& options = {}) {
  return created(Reranker::create(loaded.model, options));
}

// Returns the score of each pair, and checks that they are visited in order.
std::vector<float> scores_of(Reranker* reranker, const std::vector<TextInput>& pairs) {
  std::vector<float> scores;
  const Status status = reranker->score(pairs, [&](size_t index, const TextReport& report, float score) {
    CHECK(index == scores.size());
    CHECK_MESSAGE(report.status.ok(), report.status.message());
    scores.push_back(score);
    return true;
  });
  CHECK_MESSAGE(status.ok(), status.message());
  return scores;
}

// The pairs point to the documents, so a temporary list of documents isn't accepted.
std::vector<TextInput> pairs_of(std::string_view query, std::vector<std::string>&& documents) = delete;
std::vector<TextInput> pairs_of(std::string_view query, const std::vector<std::string>& documents) {
  std::vector<TextInput> pairs;
  for (const std::string& document : documents) pairs.push_back({query, document, {}});
  return pairs;
}

TEST_CASE("a score is the head's own activation of its output, with the same bits in any threads and batches") {
  const LoadedModel loaded(scores());
  const std::vector<std::string> documents = random_sentences(300, 8, 3);
  const std::vector<TextInput> pairs = pairs_of("the film", documents);
  for (const char* name : {"relevance", "squashed"}) {
    CAPTURE(name);
    const int head = loaded.model->find_head(name);
    ClassifierOptions classifying;
    classifying.heads = {&head, 1};
    Classifier classifier = std::move(*Classifier::create(loaded.model, classifying));
    std::vector<float> expected(documents.size());
    REQUIRE(classifier.classify(pairs, expected).ok());
    for (const int threads : {1, 3}) {
      for (const int64_t batch : {1, 16}) {
        RerankerOptions options;
        options.head = head;
        options.texts.cpu.threads = threads;
        options.texts.max_batch = batch;
        Reranker reranker = make(loaded, options);
        CHECK(reranker.head() == head);
        const std::vector<float> made = scores_of(&reranker, pairs);
        REQUIRE(made.size() == expected.size());
        CHECK(std::memcmp(made.data(), expected.data(), made.size() * sizeof(float)) == 0);
      }
    }
  }
}

TEST_CASE("scores are the raw outputs if requested, and their sigmoid if a head has no activation") {
  SentimentModel shape = scores();
  const LoadedModel loaded(shape);
  RerankerOptions options;
  options.head = loaded.model->find_head("squashed");
  Reranker squashed = make(loaded, options);
  options.logits = true;
  Reranker raw = make(loaded, options);
  const std::vector<std::string> documents = {"good good", "bad", "the plot"};
  const std::vector<TextInput> pairs = pairs_of("film", documents);
  const std::vector<float> probabilities = scores_of(&squashed, pairs), logits = scores_of(&raw, pairs);
  for (size_t i = 0; i < pairs.size(); ++i) {
    CHECK(probabilities[i] == doctest::Approx(1 / (1 + std::exp(-logits[i]))).epsilon(1e-6));
  }
  CHECK(logits[0] > 0);
  CHECK(logits[1] < 0);
}

TEST_CASE("the score of a head that compares two texts prefers the better document") {
  SentimentModel shape;
  shape.more_heads = true;
  const LoadedModel loaded(shape);
  Reranker reranker = make(loaded);  // The heads sentiment and topic have several outputs.
  CHECK(reranker.head() == loaded.model->find_head("better"));
  const std::vector<std::string> documents = {"good good good", "bad bad", "good"};
  const std::vector<float> made = scores_of(&reranker, pairs_of("good", documents));
  CHECK(made[0] > made[1]);
  CHECK(made[2] == 0.5f);
}

TEST_CASE("a ranking has the best documents first, equal ones in their order, and as many as fit") {
  const LoadedModel loaded(scores());
  Reranker reranker = make(loaded);
  CHECK(reranker.head() == loaded.model->find_head("relevance"));
  std::vector<std::string> documents = random_sentences(1000, 3, 5);  // Most documents are equal to another one.
  const std::vector<float> all = scores_of(&reranker, pairs_of("the film", documents));
  std::vector<size_t> order(documents.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return all[a] > all[b]; });
  for (const size_t room : {size_t{0}, size_t{1}, size_t{7}, documents.size(), documents.size() + 3}) {
    std::vector<Scored> best(room);
    size_t count = 99;
    const Status status = reranker.rank("the film", views_of(documents), best, &count);
    REQUIRE_MESSAGE(status.ok(), status.message());
    CHECK(count == std::min(room, documents.size()));
    for (size_t i = 0; i < count; ++i) {
      CHECK(best[i].index == static_cast<int64_t>(order[i]));
      CHECK(best[i].score == all[order[i]]);
    }
  }
}

TEST_CASE("a document with an error keeps its place, and the error of a ranking names it") {
  const LoadedModel loaded(scores());
  RerankerOptions options;
  options.texts.on_long = OnLong::error;
  Reranker reranker = make(loaded, options);
  std::string longer;
  for (int i = 0; i < 30; ++i) longer += "good ";
  const std::vector<std::string> read = {"good", longer, "bad"};
  const std::vector<TextInput> pairs = pairs_of("film", read);
  size_t next = 0;
  CHECK(reranker
            .score(pairs,
                   [&](size_t index, const TextReport& report, float score) {
                     CHECK(index == next++);
                     CHECK(std::isnan(score) == (index == 1));
                     CHECK((report.status.code() == Code::too_long) == (index == 1));
                     return true;
                   })
            .ok());
  CHECK(next == 3);
  const std::vector<std::string_view> documents = {"good", longer, "bad"};
  std::vector<Scored> best(3);
  size_t count = 0;
  const Status refused = reranker.rank("film", documents, best, &count);
  CHECK(refused.code() == Code::too_long);
  CHECK(std::string_view(refused.message()).starts_with("document 1: "));
}

TEST_CASE("models and heads that can't score documents are refused") {
  const LoadedModel loaded;
  Result<Reranker> made = Reranker::create(loaded.model);
  CHECK(made.status().code() == Code::unsupported);
  CHECK(std::string_view(made.status().message()).find("cross-encoder") != std::string_view::npos);
  CHECK(Reranker::create(nullptr).status().code() == Code::invalid_argument);
  CHECK(Reranker::create(LoadedModel({.numbers = true, .vectors = true}).model).status().code() == Code::unsupported);
  for (const int head : {0, 1, 2, 99}) {
    RerankerOptions options;
    options.head = head;
    CAPTURE(head);
    CHECK(Reranker::create(loaded.model, options).status().code() == Code::invalid_argument);
  }
}

}  // namespace
}  // namespace linformer_test::reranker_test
