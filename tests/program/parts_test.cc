// Tests calls in which each thread runs whole sequences, and sessions that share weights.
#include <doctest/doctest.h>

#include <atomic>
#include <cmath>
#include <cstring>
#include <thread>

#include "base/description.h"
#include "base/threads.h"
#include "linformer/session.h"
#include "session/variants.h"
#include "support/outputs.h"

namespace linformer_test::parts_test {
namespace {

using namespace linformer;

// All outputs of a call.
struct Results {
  std::vector<float> hidden, pooled, logits, probabilities, embeddings, mlm;
  bool operator==(const Results& other) const {
    const auto same = [](const std::vector<float>& a, const std::vector<float>& b) {
      if (a.empty() || b.empty()) return a.size() == b.size();
      return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
    };
    return same(hidden, other.hidden) && same(pooled, other.pooled) && same(logits, other.logits) &&
           same(probabilities, other.probabilities) && same(embeddings, other.embeddings) && same(mlm, other.mlm);
  }
};

Results run(Session& session, const std::vector<Input>& inputs, const std::vector<MaskPosition>& positions) {
  Results r;
  std::vector<Output> outputs;
  linformer_test::add_output(session, inputs, Output::hidden({}), &r.hidden, &outputs);
  linformer_test::add_output(session, inputs, Output::pooled({}), &r.pooled, &outputs);
  linformer_test::add_output(session, inputs, Output::logits({}), &r.logits, &outputs);
  linformer_test::add_output(session, inputs, Output::probabilities({}), &r.probabilities, &outputs);
  linformer_test::add_output(session, inputs, Output::embeddings({}), &r.embeddings, &outputs);
  linformer_test::add_output(session, inputs, Output::masked_lm({}, positions), &r.mlm, &outputs);
  const Status status = session.run(inputs, outputs);
  REQUIRE_MESSAGE(status.ok(), std::string(status.message()));
  return r;
}

// Runs each sequence in a call of its own, so that the threads share its rows, and returns all outputs.
Results run_alone(Session& session, const std::vector<Input>& inputs, const std::vector<MaskPosition>& positions) {
  Results all;
  for (size_t s = 0; s < inputs.size(); ++s) {
    std::vector<MaskPosition> own;
    for (const MaskPosition& position : positions) {
      if (position.sequence == static_cast<int64_t>(s)) own.push_back({0, position.position});
    }
    const Results one = run(session, {inputs[s]}, own);
    const auto append = [](std::vector<float>& to, const std::vector<float>& from) {
      to.insert(to.end(), from.begin(), from.end());
    };
    append(all.hidden, one.hidden);
    append(all.pooled, one.pooled);
    append(all.logits, one.logits);
    append(all.probabilities, one.probabilities);
    append(all.embeddings, one.embeddings);
    append(all.mlm, one.mlm);
  }
  return all;
}

TEST_CASE("many short sequences give the same bits whether threads take rows or whole sequences") {
  constexpr uint32_t n = 60;
  constexpr int64_t sequences = 120;
  for (const Variant& variant : linformer_test::sampled_variants(1, n)) {
    CAPTURE(variant.name);
    const auto model = linformer_test::random_model(variant.shape);
    const EncoderDescription& encoder = model->description().encoder;
    std::vector<RandomInput> given;
    std::vector<Input> inputs;
    std::vector<MaskPosition> positions;
    for (int64_t s = 0; s < sequences; ++s) {
      const int64_t length = 1 + s * 37 % (n - 1);
      given.push_back(linformer_test::random_input(static_cast<uint64_t>(s), encoder, length, 1 + s % n,
                                                   variant.masks && s % 3 == 0));
      if (model->description().mlm.present() && s % 5 == 0) positions.push_back({s, 0});
    }
    for (const RandomInput& input : given) inputs.push_back(input.view());
    Results expected;
    for (const int threads : {1, 2, 4}) {
      SessionOptions options;
      options.memory.max_batch = sequences;
      options.cpu.threads = threads;
      options.run.padding = variant.masks ? Padding::keep : Padding::strip;
      Session session = std::move(Session::create(model, options).value());
      if (threads == 1) expected = run_alone(session, inputs, positions);
      CHECK(expected == run(session, inputs, positions));
      CHECK(expected == run(session, inputs, positions));
    }
  }
}

TEST_CASE("pairs of sequences give the same scores alone and in a batch, at 1 and 3 threads") {
  RandomModel shape;
  shape.n = 40;
  shape.head_kinds = {{Pooling::mean, Pairing::product_difference, true, true}};
  const auto model = linformer_test::random_model(shape);
  std::vector<std::vector<int32_t>> ids;
  for (uint64_t s = 0; s < 101 * 2; ++s) ids.push_back(linformer_test::random_ids(s, 1 + s * 7 % 40, shape.vocabulary));
  const std::vector<Tokens> sequences(ids.begin(), ids.end());
  std::vector<float> expected;
  for (const int threads : {1, 3}) {
    SessionOptions options;
    options.memory.max_batch = static_cast<int64_t>(sequences.size());
    options.cpu.threads = threads;
    Session session = std::move(Session::create(model, options).value());
    const auto logits_of = [&](std::span<const Tokens> pairs) {
      std::vector<float> logits(pairs.size() / 2 * 3, NAN);
      REQUIRE(session.run(pairs, Output::logits(logits)).ok());
      return logits;
    };
    for (size_t s = 0; expected.size() < 101 * 3; s += 2) {
      const std::vector<float> logits = logits_of(std::span(sequences).subspan(s, 2));
      expected.insert(expected.end(), logits.begin(), logits.end());
    }
    CHECK(expected == logits_of(sequences));
  }
}

// Heads of different kinds use the same buffers with different numbers of rows of scores.
TEST_CASE("heads of different kinds in one call give the same scores in each call, at 1 and 4 threads") {
  RandomModel shape;
  shape.n = 40;
  shape.layers = 1;
  shape.d_model = 64;
  shape.head_classes = {3, 3, 3};
  shape.head_kinds = {{Pooling::none, Pairing::none, true, true},
                      {Pooling::mean, Pairing::product_difference, true, true},
                      {Pooling::first_token, Pairing::none, true, true}};
  const auto model = linformer_test::random_model(shape);
  std::vector<std::vector<int32_t>> ids;
  for (uint64_t s = 0; s < 400; ++s) {
    ids.push_back(linformer_test::random_ids(s, static_cast<int64_t>(1 + s * 7 % 40), shape.vocabulary));
  }
  const std::vector<Tokens> sequences(ids.begin(), ids.end());
  std::vector<std::vector<float>> expected;
  for (const int threads : {1, 4}) {
    SessionOptions options;
    options.memory.max_batch = static_cast<int64_t>(sequences.size());
    options.cpu.threads = threads;
    Session session = std::move(Session::create(model, options).value());
    for (int call = 0; call < (threads == 1 ? 1 : 20); ++call) {
      std::vector<std::vector<float>> logits;
      std::vector<Output> outputs;
      for (int head = 0; head < 3; ++head) {
        logits.push_back(linformer_test::nan_buffer_for(session, sequences, Output::logits({}, head)));
        outputs.push_back(Output::logits(logits.back(), head));
      }
      REQUIRE(session.run(sequences, outputs).ok());
      if (expected.empty()) expected = logits;
      CHECK(expected == logits);
    }
  }
}

// If all keys that a row may attend to are masked, the row must not depend on which blocks of keys were skipped.
TEST_CASE("rows without an unmasked key have the same bits at any number of threads") {
  for (const bool causal : {false, true}) {
    RandomModel shape;
    shape.n = 400;
    shape.kinds = {ProjectionKind::none};
    shape.row_mask = RowMask::excluded;
    shape.causal = causal;
    shape.layer.attention.window = causal ? 0 : 16;
    const auto model = linformer_test::random_model(shape);
    const std::vector<int32_t> ids = linformer_test::random_ids(1, 300, shape.vocabulary);
    std::vector<uint8_t> mask(300, 1);
    std::fill_n(mask.begin(), 220, uint8_t{0});
    Input input;
    input.tokens = ids;
    input.mask = mask;
    std::vector<float> expected;
    for (const int threads : {1, 2, 3, 4}) {
      SessionOptions options;
      options.run.padding = Padding::keep;
      options.cpu.threads = threads;
      Session session = std::move(Session::create(model, options).value());
      std::vector<float> hidden(300 * shape.d_model, NAN);
      REQUIRE(session.run(std::span<const Input>(&input, 1), Output::hidden(hidden)).ok());
      if (expected.empty()) expected = hidden;
      CHECK(expected == hidden);
    }
  }
}

TEST_CASE("sessions can share prepared weights and run at the same time") {
  const auto model = linformer_test::random_model({});
  const auto weights = PreparedWeights::create(model);
  REQUIRE(weights.ok());
  CHECK((*weights)->bytes() == 0);
  CHECK((*weights)->model() == model);
  const std::vector<int32_t> ids = linformer_test::random_ids(3, 40, 50);
  std::vector<std::vector<float>> logits(4, std::vector<float>(3, NAN));
  std::atomic<int> good{0};
  std::vector<std::thread> threads;
  for (auto& result : logits) {
    threads.emplace_back([&] {
      Result<Session> session = Session::create(*weights, {});
      if (!session.ok()) return;
      const Tokens tokens = ids;
      for (int i = 0; i < 20; ++i) good += session->run(std::span(&tokens, 1), Output::logits(result)).ok();
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(good == 80);
  for (const auto& result : logits) CHECK(result == logits[0]);
  CHECK(Session::create(std::shared_ptr<const PreparedWeights>(), {}).status().code() == Code::invalid_argument);
  CHECK(PreparedWeights::create(nullptr).status().code() == Code::invalid_argument);
}

TEST_CASE("all tasks of a team are done once, however few of its threads arrive in time") {
  for (const int threads : {1, 2, 8}) {
    ThreadTeam team;
    REQUIRE(team.start(threads).ok());
    std::atomic<int64_t> sum{0};
    TaskCounter counter;
    REQUIRE(counter.try_reserve(threads));
    for (int64_t call = 0; call < 3000; ++call) {
      counter.reset(call % 7, threads);
      std::atomic<int> inside{0};
      team.run([&](int thread) {
        ++inside;
        CHECK_MESSAGE((thread >= 0 && thread < threads), thread);
        for (int64_t task; counter.next(thread, &task);) sum += task + 1;
      });
      REQUIRE((inside >= 1 && inside <= threads));
    }
    int64_t expected = 0;
    for (int64_t call = 0; call < 3000; ++call) expected += (call % 7) * (call % 7 + 1) / 2;
    CHECK(sum == expected);
  }
}

}  // namespace

}  // namespace linformer_test::parts_test
