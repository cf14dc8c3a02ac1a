// Tests that rerankers, zero-shot labels and vector search give the same results in C as in C++.
#include <linformer.h>

#include <cmath>
#include <string>
#include <vector>

#include "c_api/hostile.h"
#include "c_api/ok.h"
#include "c_api/opened_model.h"
#include "linformer/reranker.h"
#include "linformer/zero_shot.h"

namespace linformer_test::ranking_test {
namespace {

using namespace linformer;

SentimentModel shape_of_all() {
  SentimentModel shape;
  shape.numbers = true;
  shape.labels = {"contradiction", "neutral", "entailment"};
  return shape;
}

const char* const documents[] = {"bad film", "good film", "the plot", "good"};

TEST_CASE("a reranker returns the best documents, and each score") {
  OpenedModel f(shape_of_all());
  lnf_status& status = f.status;
  lnf_reranker* reranker = nullptr;
  OK(lnf_reranker_create(f.model, -1, 0, nullptr, &reranker, &status));
  const auto model = *Model::load(f.CliFixture::model().c_str());
  CHECK(lnf_reranker_head(reranker) == model->find_head("relevance"));
  lnf_scored best[3];
  size_t count = 0;
  OK(lnf_rerank(reranker, "the film", 8, documents, nullptr, 4, best, 3, &count, nullptr, &status));
  Reranker same = std::move(*Reranker::create(model));
  const std::vector<std::string_view> views(documents, documents + 4);
  std::vector<Scored> expected(3);
  size_t expected_count = 0;
  REQUIRE(same.rank("the film", views, expected, &expected_count).ok());
  CHECK(count == expected_count);
  for (size_t i = 0; i < count; ++i) {
    CHECK(best[i].index == expected[i].index);
    CHECK(best[i].score == expected[i].score);
  }
  const char* const queries[] = {"the film", "the film", "the film", "the film"};
  std::vector<float> scores;
  OK(lnf_rerank_each(
      reranker, queries, nullptr, documents, nullptr, 4,
      [](void* context, const lnf_text_report* report) {
        CHECK(report->code == LNF_OK);
        CHECK(report->count == 1);
        static_cast<std::vector<float>*>(context)->push_back(report->values[0]);
        return 1;
      },
      &scores, nullptr, &status));
  REQUIRE(scores.size() == 4);
  for (size_t i = 0; i < count; ++i) CHECK(scores[static_cast<size_t>(best[i].index)] == best[i].score);
  lnf_reranker_free(reranker);
  lnf_reranker_free(nullptr);
}

TEST_CASE("zero-shot labels get the same scores as in C++") {
  OpenedModel f(shape_of_all());
  lnf_status& status = f.status;
  const char* const labels[] = {"bad", "good"};
  lnf_zero_shot* zero_shot = nullptr;
  OK(lnf_zero_shot_create(f.model, 0, labels, nullptr, 2, "a {} .", 0, nullptr, &zero_shot, &status));
  std::vector<lnf_label_score> scores;
  OK(lnf_zero_shot_each(
      zero_shot, documents, nullptr, 4,
      [](void* context, const lnf_zero_shot_scores* made) {
        CHECK(made->report->code == LNF_OK);
        CHECK(made->score_count == 2);
        auto* all = static_cast<std::vector<lnf_label_score>*>(context);
        all->insert(all->end(), made->scores, made->scores + made->score_count);
        return 1;
      },
      &scores, nullptr, &status));
  REQUIRE(scores.size() == 8);
  CHECK(scores[2].label == 1);
  CHECK(scores[2].probability + scores[3].probability == doctest::Approx(1));
  lnf_zero_shot_free(zero_shot);
  lnf_zero_shot_free(nullptr);
}

TEST_CASE("a search in vectors finds the nearest rows") {
  lnf_status status{};
  const float rows[] = {1, 0, 0, 1, 1, 1}, queries[] = {2, 0, 0, 3};
  lnf_search* search = nullptr;
  OK(lnf_search_create(rows, 3, 2, LNF_COSINE, 2, 0, &search, &status));
  lnf_scored best[4];
  size_t counts[2];
  OK(lnf_search_run(search, queries, 2, best, 4, counts, nullptr, &status));
  CHECK(counts[1] == 2);
  CHECK(best[0].index == 0);
  CHECK(best[0].score == 1);
  CHECK(best[1].index == 2);
  CHECK(best[2].index == 1);
  OK(lnf_search_set_rows(search, rows, 1, &status));
  OK(lnf_search_run(search, queries, 2, best, 4, counts, nullptr, &status));
  CHECK(counts[0] == 1);
  CHECK(lnf_search_run(search, queries, 2, best, 3, counts, nullptr, &status) == LNF_TOO_LONG);
  lnf_search_free(search);
  lnf_search_free(nullptr);
}

TEST_CASE("cut vectors and sparse vectors are the same as in C++") {
  SentimentModel shape;
  shape.embedding = true;
  OpenedModel f(shape);
  lnf_status& status = f.status;
  lnf_embedder* embedder = nullptr;
  OK(lnf_embedder_create_cut(f.model, LNF_POOL_DEFAULT, -1, 3, nullptr, &embedder, &status));
  CHECK(lnf_embedder_width(embedder) == 3);
  float vectors[12];
  OK(lnf_embed(embedder, documents, nullptr, 4, vectors, 12, nullptr, &status));
  for (int i = 0; i < 4; ++i) {
    const float* v = vectors + 3 * i;
    CHECK(v[0] * v[0] + v[1] * v[1] + v[2] * v[2] == doctest::Approx(1));
  }
  lnf_embedder_free(embedder);
  CHECK(lnf_embedder_create_cut(f.model, LNF_POOL_DEFAULT, -1, 17, nullptr, &embedder, &status) ==
        LNF_INVALID_ARGUMENT);

  lnf_sparse_embedder* sparse = nullptr;
  OK(lnf_sparse_embedder_create(f.model, nullptr, &sparse, &status));
  CHECK(lnf_sparse_embedder_vocabulary(sparse) == 13);
  size_t tokens = 0;
  OK(lnf_embed_sparse(
      sparse, documents, nullptr, 4,
      [](void* context, const lnf_text_report* text, const lnf_token_weight* weights, size_t count) {
        CHECK(text->code == LNF_OK);
        for (size_t i = 0; i < count; ++i) {
          CHECK(weights[i].weight > 0);
          if (i > 0) CHECK(weights[i].weight <= weights[i - 1].weight);
        }
        *static_cast<size_t*>(context) += count;
        return 1;
      },
      &tokens, nullptr, &status));
  CHECK(tokens > 4);
  lnf_sparse_embedder_free(sparse);
  lnf_sparse_embedder_free(nullptr);
}

TEST_CASE("invalid arguments of ranking and search are refused") {
  Hostile f;
  lnf_reranker* reranker = nullptr;
  lnf_zero_shot* zero_shot = nullptr;
  lnf_search* search = nullptr;
  size_t count = 0;
  lnf_scored best[1];
  const char* labels[] = {"good", nullptr};
  const float rows[] = {1, 2};
  CHECK(lnf_reranker_head(nullptr) == -1);
  f.refused([&](lnf_status* s) { return lnf_reranker_create(nullptr, -1, 0, nullptr, &reranker, s); });
  f.refused([&](lnf_status* s) { return lnf_reranker_create(f.model, -1, 0, nullptr, nullptr, s); });
  f.refused([&](lnf_status* s) { return lnf_reranker_create(f.model, 99, 0, nullptr, &reranker, s); });
  f.refused(
      [&](lnf_status* s) { return lnf_rerank(nullptr, "q", 1, labels, nullptr, 1, best, 1, &count, nullptr, s); });
  f.refused([&](lnf_status* s) {
    return lnf_rerank_each(nullptr, labels, nullptr, labels, nullptr, 1, nullptr, nullptr, nullptr, s);
  });
  const auto zero = [&](const lnf_model* model, int32_t head, const char* const* names, size_t names_count,
                        const char* hypothesis, lnf_status* s) {
    return lnf_zero_shot_create(model, head, names, nullptr, names_count, hypothesis, 0, nullptr, &zero_shot, s);
  };
  f.refused([&](lnf_status* s) { return zero(nullptr, 0, labels, 1, nullptr, s); });
  f.refused([&](lnf_status* s) { return zero(f.model, 0, nullptr, 1, nullptr, s); });
  f.refused([&](lnf_status* s) { return zero(f.model, 0, labels, 2, nullptr, s); });
  f.refused([&](lnf_status* s) { return zero(f.model, 0, labels, 0, nullptr, s); });
  f.refused([&](lnf_status* s) { return zero(f.model, 0, labels, 1, "none", s); });
  f.refused([&](lnf_status* s) { return zero(f.model, -1, labels, 1, nullptr, s); });
  f.refused([&](lnf_status* s) {
    return lnf_zero_shot_create(f.model, 0, labels, nullptr, 1, nullptr, 0, nullptr, nullptr, s);
  });
  f.refused(
      [&](lnf_status* s) { return lnf_zero_shot_each(nullptr, labels, nullptr, 1, nullptr, nullptr, nullptr, s); });
  const auto create = [&](const float* given, size_t row_count, int64_t width, int32_t similarity, int64_t top_k,
                          int32_t threads, lnf_status* s) {
    return lnf_search_create(given, row_count, width, similarity, top_k, threads, &search, s);
  };
  f.refused([&](lnf_status* s) { return create(nullptr, 1, 2, LNF_DOT, 1, 1, s); });
  f.refused([&](lnf_status* s) { return create(rows, SIZE_MAX, 2, LNF_DOT, 1, 1, s); });
  f.refused([&](lnf_status* s) { return create(rows, 1, 0, LNF_DOT, 1, 1, s); });
  f.refused([&](lnf_status* s) { return create(rows, 1, INT64_MAX, LNF_DOT, 1, 1, s); });
  f.refused([&](lnf_status* s) { return create(rows, 1, 2, 2, 1, 1, s); });
  f.refused([&](lnf_status* s) { return create(rows, 1, 2, LNF_DOT, 0, 1, s); });
  f.refused([&](lnf_status* s) { return create(rows, 1, 2, LNF_DOT, 1, -1, s); });
  f.refused([&](lnf_status* s) { return lnf_search_create(rows, 1, 2, LNF_DOT, 1, 1, nullptr, s); });
  f.refused([&](lnf_status* s) { return lnf_search_set_rows(nullptr, rows, 1, s); });
  f.refused([&](lnf_status* s) { return lnf_search_run(nullptr, rows, 1, best, 1, &count, nullptr, s); });
  REQUIRE(create(rows, 1, 2, LNF_DOT, 1, 1, nullptr) == LNF_OK);
  f.refused([&](lnf_status* s) { return lnf_search_run(search, nullptr, 1, best, 1, &count, nullptr, s); });
  f.refused([&](lnf_status* s) { return lnf_search_run(search, rows, 1, nullptr, 1, &count, nullptr, s); });
  f.refused([&](lnf_status* s) { return lnf_search_run(search, rows, 1, best, 1, nullptr, nullptr, s); });
  f.refused([&](lnf_status* s) { return lnf_search_set_rows(search, nullptr, 1, s); });
  lnf_search_free(search);
  lnf_embedder* embedder = nullptr;
  lnf_sparse_embedder* sparse = nullptr;
  f.refused([&](lnf_status* s) { return lnf_embedder_create_cut(nullptr, -1, -1, 1, nullptr, &embedder, s); });
  f.refused(
      [&](lnf_status* s) { return lnf_embedder_create_cut(f.model, LNF_POOL_MEAN, -1, -1, nullptr, &embedder, s); });
  f.refused([&](lnf_status* s) { return lnf_sparse_embedder_create(nullptr, nullptr, &sparse, s); });
  f.refused([&](lnf_status* s) { return lnf_sparse_embedder_create(f.model, nullptr, nullptr, s); });
  f.refused([&](lnf_status* s) { return lnf_embed_sparse(nullptr, labels, nullptr, 1, nullptr, nullptr, nullptr, s); });
  CHECK(lnf_sparse_embedder_vocabulary(nullptr) == 0);
}

}  // namespace
}  // namespace linformer_test::ranking_test
