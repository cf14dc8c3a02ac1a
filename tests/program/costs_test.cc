// Compares the costs that a program lists for its ops with closed formulas.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include "base/description.h"
#include "program/cost.h"
#include "session/state.h"
#include "support/random_model.h"

namespace linformer_test::costs_test {
namespace {

using namespace linformer;

// Returns the FLOPs of a text of n tokens. If `first_rows` is set, they are those of a call whose outputs read only the
// first row of each text.
double flop(const Model& model, int64_t n, bool first_rows = false) {
  struct Sum {
    bool first_rows;
    std::string last;  // The name of the last layer.
    double flop = 0;
  } sum{first_rows, "layer " + std::to_string(model.description().encoder.layers.size() - 1)};
  const auto add = [](void* context, const ProgramLine& line) {
    Sum& s = *static_cast<Sum*>(context);
    const std::string part = line.part;
    if (part.starts_with("head") || part == "masked-LM") return;
    const bool replaced = part == s.last && std::string(line.domain) == "row blocks";
    if (s.first_rows ? !replaced : !line.in_first_rows) s.flop += line.flop;
  };
  REQUIRE(list_program(model, {}, n, add, &sum).ok());
  return sum.flop;
}

// Returns the number of rows below which a text is computed as a short one. It is the same in each layer.
int64_t short_rows_below(const Program& program) {
  for (const Op& op : program.ops) {
    if (const auto* attend = op.get<ops::Attend>()) return attend->short_below;
  }
  return 0;
}

RandomModel shape() {
  RandomModel model;
  model.n = 400;
  model.k = 32;
  model.d_model = 96;
  model.heads = 6;
  model.ffn = 200;
  model.layers = 3;
  model.masked_lm = false;
  return model;
}

TEST_CASE("the FLOPs of a Linformer follow the closed formula") {
  const double d = 96, k = 32, heads = 6, ffn = 200, layers = 3;
  RandomModel model = shape();
  for (const bool shared : {false, true}) {
    model.shared_key_value = shared;
    const auto random = linformer_test::random_model(model);
    const Result<LoweredModel> lowered = lower_model(random->description(), {}, Bf16Choice{true, ""});
    REQUIRE(lowered.ok());
    const int64_t below = lowered->plan.project_first_below;
    const int64_t short_below = short_rows_below(lowered->program);
    CHECK(short_below == 1 + static_cast<int64_t>(2 * k * d / (d + heads * k)));
    REQUIRE(below > short_below);
    for (const int64_t n : {int64_t{1}, short_below - 1, short_below, below - 1, below, int64_t{400}}) {
      CAPTURE(n);
      const double rows = static_cast<double>(n);
      const double compressed_first = (shared ? 1 : 2) * rows * k * d + 2 * k * d * d;
      const double projected_first = 2 * rows * d * d + 2 * rows * k * d;
      // Attention to compressed keys costs 2 n k D multiply-adds. Short texts compress the scores instead.
      const double attends = 2 * rows * k * d, short_keys = 2 * rows * d * d + 2 * rows * rows * (d + heads * k);
      const double keys = n < short_below ? short_keys : attends + (n < below ? projected_first : compressed_first);
      CHECK(keys <= std::min({short_keys, attends + projected_first, attends + compressed_first}));
      const double rest = 2 * rows * d * d + 2 * rows * d * ffn;
      CHECK(flop(*random, n) == doctest::Approx(2 * layers * (keys + rest)));
    }
  }
}

TEST_CASE("if the outputs read only first rows, the last layer computes one row after its keys") {
  const double d = 96, k = 32, ffn = 200, n = 400;
  const auto random = linformer_test::random_model(shape());
  const double row = 2 * (2 * d * d + 2 * d * ffn + 2 * k * d);
  CHECK(flop(*random, 400, true) == doctest::Approx(flop(*random, 400) - (n - 1) * row));
}

TEST_CASE("rows are split evenly among threads, but an item has at least 8 rows") {
  struct Case {
    int64_t rows, parts, step;
  };
  for (const auto& [rows, parts, step] : {Case{1, 2, 16},
                                          {16, 2, 16},
                                          {17, 2, 9},
                                          {17, 4, 16},
                                          {33, 4, 9},
                                          {56, 8, 16},
                                          {80, 2, 40},
                                          {300, 4, 75},
                                          {512, 4, 128},
                                          {513, 5, 103},
                                          {4096, 2, 128}}) {
    CAPTURE(rows);
    CHECK(rows_per_item(rows, parts, 128) == step);
  }
}

TEST_CASE("the FLOPs of full attention and of a gated feed-forward network follow the formulas") {
  RandomModel model = shape();
  model.kinds = {ProjectionKind::none};
  const double d = 96, ffn = 200, layers = 3, n = 400;
  const auto random = linformer_test::random_model(model);
  CHECK(flop(*random, 400) == doctest::Approx(2 * layers * (4 * n * d * d + 2 * n * n * d + 2 * n * d * ffn)));
  model.layer.gated = true;
  const auto gated = linformer_test::random_model(model);
  CHECK(flop(*gated, 400) == doctest::Approx(2 * layers * (4 * n * d * d + 2 * n * n * d + 3 * n * d * ffn)));
}

TEST_CASE("a profile sums the FLOPs of the sequences that ran, and has seconds for each op") {
  const RandomModel model = shape();
  const auto random = linformer_test::random_model(model);
  SessionOptions options;
  options.memory.max_batch = 12;
  options.cpu.threads = 2;
  options.profile = true;
  Session session = std::move(Session::create(random, options).value());
  double expected = 0, expected_first = 0;
  std::vector<std::vector<int32_t>> ids;
  for (const int64_t n : {400, 1, 30, 129, 260, 260, 260, 260, 90, 90, 90, 90}) {
    ids.push_back(linformer_test::random_ids(static_cast<uint64_t>(n), n, model.vocabulary));
    expected += flop(*random, n);
    expected_first += flop(*random, n, true);
  }
  const std::vector<Tokens> sequences(ids.begin(), ids.end());
  std::vector<float> logits(ids.size() * 3), means(ids.size() * 96);
  // The head reads only first rows, and the mean all rows.
  REQUIRE(session.run(sequences, Output::logits(logits)).ok());
  REQUIRE(session.run(sequences, Output::pooled(means, Pooling::mean)).ok());
  struct Sum {
    double flop = 0;
    int lines = 0;
  } sum;
  const auto add = [](void* context, const ProgramLine& line) {
    Sum& s = *static_cast<Sum*>(context);
    CHECK(line.seconds > 0);
    CHECK(line.bytes > 0);
    if (!std::string(line.part).starts_with("head")) s.flop += line.flop;
    ++s.lines;
  };
  REQUIRE(session.profile(add, &sum).ok());
  CHECK(sum.flop == doctest::Approx(expected + expected_first));
  CHECK(sum.lines > 20);
  Session plain = std::move(Session::create(random, {}).value());
  CHECK(plain.profile(add, &sum).code() == Code::invalid_argument);
}

}  // namespace

}  // namespace linformer_test::costs_test
