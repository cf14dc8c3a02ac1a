#include "linformer/vector_search.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

namespace linformer_test::vector_search_test {
namespace {

using namespace linformer;

std::vector<float> random_rows(size_t count, size_t width, uint32_t seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> distribution(-1, 1);
  std::vector<float> rows(count * width);
  for (float& value : rows) value = distribution(random);
  return rows;
}

VectorSearch make(std::span<const float> rows, int64_t width, const VectorSearchOptions& options = {}) {
  Result<VectorSearch> made = VectorSearch::create(rows, width, options);
  REQUIRE_MESSAGE(made.ok(), made.status().message());
  return std::move(*made);
}

struct Found {
  std::vector<Scored> best;
  std::vector<size_t> counts;
};

Found search(VectorSearch* searcher, std::span<const float> queries) {
  const size_t count = queries.size() / static_cast<size_t>(searcher->width());
  Found found;
  found.best.resize(count * static_cast<size_t>(searcher->top_k()));
  found.counts.resize(count);
  const Status status = searcher->search(queries, found.best, found.counts);
  REQUIRE_MESSAGE(status.ok(), status.message());
  return found;
}

double score_of(const float* row, const float* query, size_t width, Similarity similarity) {
  double product = 0, a = 0, b = 0;
  for (size_t i = 0; i < width; ++i) {
    product += static_cast<double>(row[i]) * static_cast<double>(query[i]);
    a += static_cast<double>(row[i]) * static_cast<double>(row[i]);
    b += static_cast<double>(query[i]) * static_cast<double>(query[i]);
  }
  return similarity == Similarity::dot ? product : product / std::sqrt(a * b);
}

TEST_CASE("vector search finds the nearest rows for any width, number of queries and number of rows") {
  for (const size_t width : {size_t{1}, size_t{7}, size_t{16}, size_t{33}, size_t{384}}) {
    for (const size_t count : {size_t{1}, size_t{15}, size_t{700}}) {
      for (const size_t query_count : {size_t{1}, size_t{5}, size_t{67}}) {
        for (const Similarity similarity : {Similarity::cosine, Similarity::dot}) {
          CAPTURE(width);
          CAPTURE(count);
          CAPTURE(query_count);
          const std::vector<float> rows = random_rows(count, width, 1), queries = random_rows(query_count, width, 2);
          VectorSearchOptions options;
          options.similarity = similarity;
          options.top_k = 10;
          options.cpu.threads = 2;
          VectorSearch searcher = make(rows, static_cast<int64_t>(width), options);
          CHECK(searcher.rows() == static_cast<int64_t>(count));
          const Found found = search(&searcher, queries);
          for (size_t q = 0; q < query_count; ++q) {
            REQUIRE(found.counts[q] == std::min<size_t>(10, count));
            std::vector<double> all;
            for (size_t r = 0; r < count; ++r) {
              all.push_back(score_of(rows.data() + r * width, queries.data() + q * width, width, similarity));
            }
            std::vector<double> sorted = all;
            std::sort(sorted.begin(), sorted.end(), std::greater<>());
            for (size_t i = 0; i < found.counts[q]; ++i) {
              const Scored& best = found.best[q * 10 + i];
              const double tolerance = 1e-5 * std::max(1.0, std::abs(sorted[i]));
              CHECK(std::abs(static_cast<double>(best.score) - sorted[i]) < tolerance);
              CHECK(std::abs(all[static_cast<size_t>(best.index)] - sorted[i]) < tolerance);
            }
          }
        }
      }
    }
  }
}

TEST_CASE("vector search gives the same bits with any number of threads, and with any other queries and rows") {
  const size_t width = 96, count = 5000;
  const std::vector<float> rows = random_rows(count, width, 3), queries = random_rows(40, width, 4);
  VectorSearchOptions options;
  options.top_k = 20;
  VectorSearch one = make(rows, width, options);
  const Found expected = search(&one, queries);
  for (const int threads : {2, 5}) {
    options.cpu.threads = threads;
    VectorSearch several = make(rows, width, options);
    const Found found = search(&several, queries);
    CHECK(std::memcmp(found.counts.data(), expected.counts.data(), found.counts.size() * sizeof(size_t)) == 0);
    for (size_t i = 0; i < expected.best.size(); ++i) {
      CHECK(found.best[i].index == expected.best[i].index);
      CHECK(found.best[i].score == expected.best[i].score);
    }
  }
  // Searches one query in parts of the rows.
  const std::span<const float> alone(queries.data() + 7 * width, width);
  std::vector<Scored> all;
  for (size_t first = 0; first < count; first += 777) {
    const size_t now = std::min<size_t>(777, count - first);
    CHECK(one.set_rows({rows.data() + first * width, now * width}).ok());
    Found found = search(&one, alone);
    for (size_t i = 0; i < found.counts[0]; ++i) {
      all.push_back({found.best[i].index + static_cast<int64_t>(first), found.best[i].score});
    }
  }
  std::sort(all.begin(), all.end(), [](const Scored& a, const Scored& b) { return a.score > b.score; });
  for (size_t i = 0; i < 20; ++i) {
    CHECK(all[i].index == expected.best[7 * 20 + i].index);
    CHECK(all[i].score == expected.best[7 * 20 + i].score);
  }
}

TEST_CASE("vector search orders equal rows by index, never finds non-finite rows, and puts zero rows last") {
  std::vector<float> rows = {1, 0, 0, 0, 2, 0, std::numeric_limits<float>::quiet_NaN(), 1, 3, 0, -1, 0, INFINITY, 0};
  VectorSearchOptions options;
  VectorSearch searcher = make(rows, 2, options);
  const std::vector<float> query = {5, 0};
  const Found found = search(&searcher, query);
  REQUIRE(found.counts[0] == 5);
  const std::vector<int64_t> expected = {0, 2, 4, 1, 5};
  for (size_t i = 0; i < expected.size(); ++i) CHECK(found.best[i].index == expected[i]);
  CHECK(found.best[0].score == 1);
  CHECK(found.best[3].score == 0);
  CHECK(found.best[4].score == -1);
}

TEST_CASE("vector search refuses invalid widths and options") {
  const std::vector<float> rows(12, 1.f);
  const auto code = [&](int64_t width, const VectorSearchOptions& options) {
    return VectorSearch::create(rows, width, options).status().code();
  };
  VectorSearchOptions options;
  for (const int64_t width : {int64_t{0}, int64_t{-1}, int64_t{5}, INT64_MAX}) {
    CHECK(code(width, options) == Code::invalid_argument);
  }
  options.top_k = 0;
  CHECK(code(3, options) == Code::invalid_argument);
  options.top_k = INT64_MAX;
  options.cpu.threads = 0;
  CHECK(code(3, options) == Code::invalid_argument);
  options.cpu.threads = 1;
  VectorSearch searcher = make(rows, 3, options);
  std::vector<Scored> best(10);
  std::vector<size_t> counts(1);
  CHECK(searcher.search(std::span(rows).first(3), best, counts).code() == Code::too_long);
  options.top_k = 5;
  searcher = make(rows, 3, options);
  CHECK(searcher.search(std::span(rows).first(4), best, counts).code() == Code::invalid_argument);
  CHECK(searcher.search(std::span(rows).first(6), best, counts).code() == Code::too_long);
  CHECK(searcher.set_rows(std::span(rows).first(4)).code() == Code::invalid_argument);
  std::atomic<bool> cancel{true};
  RunControl control;
  control.cancel = &cancel;
  CHECK(searcher.search(std::span(rows).first(3), best, counts, control).code() == Code::cancelled);
  cancel = false;
  CHECK(searcher.search(std::span(rows).first(3), best, counts, control).ok());
  CHECK(counts[0] == 4);
  CHECK(searcher.set_rows({}).ok());
  CHECK(searcher.search(std::span(rows).first(3), best, counts).ok());
  CHECK(counts[0] == 0);
}

TEST_CASE("TopScores keeps the best scores of a stream in any order") {
  std::mt19937 random(9);
  for (const int64_t most : {0, 1, 10}) {
    TopScores top = std::move(*TopScores::create(most));
    std::vector<Scored> all;
    for (int64_t i = 0; i < 500; ++i) all.push_back({i, static_cast<float>(random() % 40)});
    std::shuffle(all.begin(), all.end(), random);
    size_t kept = 0;
    for (const Scored& scored : all) {
      int64_t dropped = -2;
      REQUIRE(top.add(scored.index, scored.score, &dropped).ok());
      kept += dropped == -1 ? 1 : 0;
      if (scored.index % 100 == 0) CHECK(top.best().size() == kept);  // best() can be called between calls of add().
    }
    int64_t dropped = -2;
    CHECK(top.add(1000, std::numeric_limits<float>::quiet_NaN(), &dropped).ok());
    CHECK(dropped == 1000);
    std::sort(all.begin(), all.end(), [](const Scored& a, const Scored& b) {
      return a.score != b.score ? a.score > b.score : a.index < b.index;
    });
    const std::span<const Scored> best = top.best();
    REQUIRE(best.size() == (most == 0 ? all.size() : static_cast<size_t>(most)));
    for (size_t i = 0; i < best.size(); ++i) CHECK(best[i].index == all[i].index);
    top.clear();
    CHECK(top.best().empty());
  }
  CHECK(TopScores::create(-1).status().code() == Code::invalid_argument);
}

}  // namespace
}  // namespace linformer_test::vector_search_test
