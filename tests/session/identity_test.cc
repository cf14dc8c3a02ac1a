// Tests with the native backend that a text has the same bits at any number of threads, alone or in any batch, and
// whatever ran before. The differences of the other backends are printed.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <functional>
#include <initializer_list>
#include <limits>

#include "base/description.h"
#include "support/engines.h"
#include "support/random_model.h"

namespace linformer_test::identity_test {
namespace {

using namespace linformer;

struct Answer {
  std::vector<float> hidden, logits;
};

RandomModel test_shape() {
  RandomModel shape;
  shape.n = 300;
  shape.k = 40;
  shape.d_model = 48;
  shape.heads = 6;
  shape.ffn = 100;
  shape.vocabulary = 100;
  return shape;
}

Session make_session(const std::shared_ptr<const Model>& model, const Engine& engine, int threads, int64_t batch,
                     int64_t max_tokens = 0) {
  SessionOptions options = linformer_test::session_options(engine, threads, batch);
  options.memory.max_tokens = max_tokens;
  Result<Session> session = Session::create(model, options);
  REQUIRE_MESSAGE(session.ok(), std::string(session.status().message()));
  return std::move(session.value());
}

std::vector<Answer> run(Session& session, const Model& model, const std::vector<std::vector<int32_t>>& texts) {
  const std::vector<Tokens> spans(texts.begin(), texts.end());
  const size_t d = model.description().encoder.d_model, classes = model.description().heads[0].labels.size();
  size_t rows = 0;
  for (const auto& text : texts) rows += text.size();
  std::vector<float> hidden(rows * d, NAN), logits(texts.size() * classes, NAN);
  const Status status = session.run(spans, {Output::hidden(hidden), Output::logits(logits)});
  REQUIRE_MESSAGE(status.ok(), std::string(status.message()));
  std::vector<Answer> answers;
  const float* at = hidden.data();
  for (size_t t = 0; t < texts.size(); ++t) {
    answers.push_back(
        {{at, at + texts[t].size() * d},
         {logits.begin() + static_cast<long>(t * classes), logits.begin() + static_cast<long>((t + 1) * classes)}});
    at += texts[t].size() * d;
  }
  return answers;
}

double difference(const std::vector<float>& a, const std::vector<float>& b) {
  REQUIRE(a.size() == b.size());
  if (std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0) return 0;
  double worst = std::numeric_limits<double>::denorm_min();  // Different bits never give 0.
  for (size_t i = 0; i < a.size(); ++i) worst = std::max(worst, static_cast<double>(std::abs(a[i] - b[i])));
  return worst;
}

double difference(const Answer& a, const Answer& b) {
  return std::max(difference(a.hidden, b.hidden), difference(a.logits, b.logits));
}

TEST_CASE("a text's bits do not depend on threads, batch or session") {
  for (ElementType type : {ElementType::f32, ElementType::bf16, ElementType::f16, ElementType::int8}) {
    RandomModel shape = test_shape();
    shape.type = type;
    const auto model = linformer_test::random_model(shape);
    std::vector<std::vector<int32_t>> texts;
    for (int64_t length : {300, 1, 17, 128, 129, 2, 39, 41, 64}) {
      texts.push_back(linformer_test::random_ids(static_cast<uint64_t>(length), length, shape.vocabulary));
    }
    const Isa best = linformer_test::best_isa();
    for (const Engine& engine : linformer_test::engines()) {
      if (engine.backend != BackendKind::native && engine.isa != best) continue;  // The other backends promise nothing.
      const bool for_largest = linformer_test::depends_on_largest_call(engine);
      Session alone = make_session(model, engine, 1, for_largest ? static_cast<int64_t>(texts.size()) : 1);
      std::vector<Answer> expected;
      for (const auto& text : texts) expected.push_back(run(alone, *model, {text})[0]);
      double worst = 0;
      for (int threads : {1, 2, 4}) {
        if (engine.device >= 0 && threads != 2) continue;  // The device uses no threads of the CPU.
        Session batched = make_session(model, engine, threads, static_cast<int64_t>(texts.size()));
        const std::vector<Answer> together = run(batched, *model, texts);
        std::vector<std::vector<int32_t>> reversed(texts.rbegin(), texts.rend());
        const std::vector<Answer> backwards = run(batched, *model, reversed);
        for (size_t t = 0; t < texts.size(); ++t) {
          worst = std::max(worst, difference(expected[t], together[t]));
          worst = std::max(worst, difference(expected[t], backwards[texts.size() - 1 - t]));
          if (threads == 2) worst = std::max(worst, difference(expected[t], run(batched, *model, {texts[t]})[0]));
        }
        if (for_largest) continue;
        Session tight = make_session(model, engine, threads, 1, 17);
        worst = std::max(worst, difference(expected[2], run(tight, *model, {texts[2]})[0]));
      }
      std::printf("%-4s %-9s %-7s largest difference over threads and batches: %g\n", name_of(type),
                  name_of(engine.backend), name_of(engine.isa), worst);
      if (engine.backend == BackendKind::native) {
        CHECK(worst == 0);
      } else {
        CHECK(worst < 1e-4);
      }
    }
  }
}

TEST_CASE("a text's bits do not depend on the rows of a block") {
  const auto compressed = [](RandomModel&) {};
  // There are several blocks of keys, and windows and causal rows attend to a part of them.
  const auto full = [](RandomModel& shape) {
    shape.kinds = {ProjectionKind::none};
    shape.n = 1200;
  };
  const auto windowed = [&](RandomModel& shape) {
    full(shape);
    shape.layer.attention.window = 300;
  };
  const auto causal = [&](RandomModel& shape) {
    full(shape);
    shape.causal = true;
  };
  for (const auto& alter :
       std::initializer_list<std::function<void(RandomModel&)>>{compressed, full, windowed, causal}) {
    for (ElementType type : {ElementType::f32, ElementType::bf16, ElementType::int8}) {
      RandomModel shape = test_shape();
      shape.type = type;
      alter(shape);
      CAPTURE(shape.n);
      const auto model = linformer_test::random_model(shape);
      const auto text = linformer_test::random_ids(5, std::max<int64_t>(300, shape.n - 11), shape.vocabulary);
      std::vector<Answer> answers;
      for (int64_t rows : {256, 128, 96, 32}) {
        SessionOptions options;
        options.cpu.block_rows = rows;
        options.cpu.threads = 2;
        Result<Session> session = Session::create(model, options);
        REQUIRE_MESSAGE(session.ok(), std::string(session.status().message()));
        CHECK(session->plan().block_rows == rows);
        answers.push_back(run(*session, *model, {text})[0]);
        CHECK(difference(answers.front(), answers.back()) == 0);
      }
    }
  }
}

TEST_CASE("an arena full of NaN from an earlier call changes no bit") {
  // The embedding of token 4 is NaN, so a batch of this token fills every buffer with NaN.
  RandomModel shape = test_shape();
  shape.masked_lm = false;
  writer::ModelBuilder builder = linformer_test::random_builder(shape);
  std::vector<float> table(static_cast<size_t>(shape.vocabulary) * shape.d_model, 0.25f);
  for (size_t i = 0; i < table.size(); ++i) table[i] = static_cast<float>(static_cast<int>(i * 37 % 101) - 50) / 60.f;
  std::fill_n(table.begin() + 4 * shape.d_model, shape.d_model, std::numeric_limits<float>::quiet_NaN());
  builder.description.encoder.embedding.tokens =
      builder.add_table("poisoned", {shape.vocabulary, shape.d_model}, table);
  const writer::AlignedBytes bytes = builder.serialize();
  auto loaded = Model::load(bytes);
  REQUIRE_MESSAGE(loaded.ok(), std::string(loaded.status().message()));
  const auto model = loaded.value();
  const std::vector<std::vector<int32_t>> poison(3, std::vector<int32_t>(300, 4));
  for (const Engine& engine : linformer_test::engines()) {
    CAPTURE(std::string(name_of(engine.backend)));
    CAPTURE(std::string(name_of(engine.isa)));
    for (int64_t length : {1, 16, 37, 130, 300}) {
      std::vector<int32_t> text = linformer_test::random_ids(7, length, shape.vocabulary);
      std::replace(text.begin(), text.end(), 4, 5);
      Session fresh = make_session(model, engine, 2, 3);
      const Answer expected = run(fresh, *model, {text})[0];
      for (float value : expected.hidden) REQUIRE(std::isfinite(value));
      CHECK(std::isnan(run(fresh, *model, poison)[0].hidden[0]));
      const Answer after = run(fresh, *model, {text})[0];
      CHECK(difference(expected, after) == 0);
    }
  }
}

}  // namespace

TEST_CASE("max pooling of a column with NaN in a later row is NaN") {
  // The embedding of the last token is NaN. The first rows don't attend to it, because of the window.
  RandomModel shape;
  shape.kinds = {ProjectionKind::none};
  shape.masked_lm = false;
  shape.layer.attention.window = 20;
  shape.n = 700;
  shape.layers = 1;
  writer::ModelBuilder builder = linformer_test::random_builder(shape);
  std::vector<float> table(static_cast<size_t>(shape.vocabulary) * shape.d_model, 0.25f);
  std::fill_n(table.begin() + 4 * shape.d_model, shape.d_model, std::numeric_limits<float>::quiet_NaN());
  builder.description.encoder.embedding.tokens =
      builder.add_table("poisoned", {shape.vocabulary, shape.d_model}, table);
  const writer::AlignedBytes bytes = builder.serialize();
  const auto model = Model::load(bytes).value();
  std::vector<int32_t> ids(shape.n, 5);
  ids.back() = 4;
  Input text;
  text.tokens = ids;
  for (const Engine& engine : linformer_test::engines()) {
    CAPTURE(std::string(name_of(engine.backend)));
    CAPTURE(std::string(name_of(engine.isa)));
    Session session = make_session(model, engine, 2, 1);
    std::vector<float> hidden(size_t{shape.n} * shape.d_model), largest(shape.d_model);
    REQUIRE(session.run({&text, 1}, {Output::hidden(hidden), Output::pooled(largest, Pooling::max)}).ok());
    for (size_t j = 0; j < shape.d_model; ++j) {
      REQUIRE(std::isfinite(hidden[j]));
      REQUIRE(std::isnan(hidden[hidden.size() - shape.d_model + j]));
      CHECK(std::isnan(largest[j]));
    }
  }
}

}  // namespace linformer_test::identity_test
