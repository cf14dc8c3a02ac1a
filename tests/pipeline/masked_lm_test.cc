// Tests masked-LM logits of a batch. Each text runs once, unless its masks alone exceed the memory for logits.
#include "linformer/masked_lm.h"

#include <doctest/doctest.h>

#include <atomic>
#include <cmath>
#include <limits>

#include "support/layer_flop.h"
#include "support/outputs.h"
#include "support/random_model.h"

namespace linformer_test::masked_lm_test {

using namespace linformer;

namespace {

Session session_of(const std::shared_ptr<const Model>& model, const SessionOptions& options) {
  Result<Session> made = Session::create(model, options);
  REQUIRE_MESSAGE(made.ok(), made.status().message());
  return std::move(*made);
}

MaskedLm masked_lm_of(const Session& session, int64_t at_once = 0) {
  Result<MaskedLm> made = MaskedLm::create(session, at_once);
  REQUIRE_MESSAGE(made.ok(), made.status().message());
  return std::move(*made);
}

}  // namespace

TEST_CASE("each text runs once for its masked-LM logits, and only a text with too many masks runs again") {
  const linformer_test::RandomModel shape;
  const auto model = linformer_test::random_model(shape);
  constexpr int64_t masks[] = {3, 0, 2, 7, 1, 4};
  std::vector<std::vector<int32_t>> ids;
  std::vector<Input> inputs;
  std::vector<MaskPosition> positions;
  for (const int64_t count : masks) {
    const int64_t text = static_cast<int64_t>(ids.size());
    ids.push_back(linformer_test::random_ids(static_cast<uint64_t>(text), 20 + text, shape.vocabulary));
    for (int64_t i = 0; i < count; ++i) positions.push_back({text, 2 * i});
  }
  for (const std::vector<int32_t>& text : ids) inputs.emplace_back().tokens = text;
  SessionOptions options;
  options.memory.max_batch = std::size(masks);
  options.profile = true;

  Session plain = session_of(model, options);
  std::vector<float> expected = linformer_test::nan_buffer_for(plain, inputs, Output::masked_lm({}, positions));
  REQUIRE(plain.run(inputs, Output::masked_lm(expected, positions)).ok());
  std::vector<double> flop;  // One number for each text.
  for (const Input& input : inputs) {
    Session one = session_of(model, options);
    REQUIRE(one.run({&input, 1}, {}).ok());
    flop.push_back(first_layer_flop(one));
  }
  const double once = flop[0] + flop[2] + flop[3] + flop[4] + flop[5];  // Text 1 has no mask.

  const auto runs = [&](int64_t at_once) {
    CAPTURE(at_once);
    Session session = session_of(model, options);
    std::vector<float> logits;
    size_t next = 0;
    const Status status =
        masked_lm_of(session, at_once).run(&session, inputs, positions, [&](size_t i, std::span<const float> row) {
          CHECK(i == next++);
          CHECK(row.size() == shape.vocabulary);
          logits.insert(logits.end(), row.begin(), row.end());
          return true;
        });
    CHECK_MESSAGE(status.ok(), status.message());
    CHECK(logits == expected);
    return first_layer_flop(session);
  };
  CHECK(runs(1000) == doctest::Approx(once));
  CHECK(runs(17) == doctest::Approx(once));
  CHECK(runs(16) == doctest::Approx(once));
  CHECK(runs(7) == doctest::Approx(once));
  CHECK(runs(5) == doctest::Approx(once + flop[3]));
  CHECK(runs(1) == doctest::Approx(3 * flop[0] + 2 * flop[2] + 7 * flop[3] + flop[4] + 4 * flop[5]));
}

TEST_CASE("no text runs if there is no mask") {
  const linformer_test::RandomModel shape;
  SessionOptions options;
  options.profile = true;
  Session session = session_of(linformer_test::random_model(shape), options);
  const std::vector<int32_t> ids = linformer_test::random_ids(1, 9, shape.vocabulary);
  Input input;
  input.tokens = ids;
  CHECK(masked_lm_of(session)
            .run(&session, {&input, 1}, {},
                 [](size_t, std::span<const float>) {
                   CHECK(false);
                   return true;
                 })
            .ok());
  CHECK(first_layer_flop(session) == 0);
}

TEST_CASE("masked-LM logits are refused beyond the limits or out of order, and a visitor can stop the call") {
  const linformer_test::RandomModel shape;
  SessionOptions options;
  options.memory.max_batch = 2;
  Session session = session_of(linformer_test::random_model(shape), options);
  MaskedLm masked_lm = masked_lm_of(session);
  CHECK(masked_lm.vocabulary() == shape.vocabulary);
  CHECK(masked_lm.positions_at_once() == MaskedLm::most_logits / shape.vocabulary);
  CHECK(MaskedLm::create(session, -1).status().code() == Code::invalid_argument);
  linformer_test::RandomModel headless;
  headless.masked_lm = false;
  CHECK(MaskedLm::create(session_of(linformer_test::random_model(headless), options)).status().code() ==
        Code::invalid_argument);
  const std::vector<int32_t> ids = linformer_test::random_ids(1, 9, shape.vocabulary);
  std::vector<Input> inputs(2);
  for (Input& input : inputs) input.tokens = ids;
  const auto run = [&](std::vector<MaskPosition> positions, size_t wanted) {
    size_t visits = 0;
    const Status status =
        masked_lm.run(&session, inputs, positions, [&](size_t, std::span<const float>) { return ++visits < wanted; });
    return std::pair(status.code(), visits);
  };
  CHECK(run({{0, 1}, {1, 1}}, 9) == std::pair(Code::ok, size_t{2}));
  CHECK(run({{0, 1}, {0, 2}, {1, 1}}, 2) == std::pair(Code::ok, size_t{2}));
  CHECK(run({{1, 1}, {0, 1}}, 9) == std::pair(Code::invalid_argument, size_t{0}));
  CHECK(run({{2, 1}}, 9) == std::pair(Code::invalid_argument, size_t{0}));
  CHECK(run({{-1, 1}}, 9) == std::pair(Code::invalid_argument, size_t{0}));
  CHECK(run({{0, INT64_MAX}}, 9) == std::pair(Code::invalid_argument, size_t{0}));
  std::atomic<bool> cancel{true};
  RunControl control;
  control.cancel = &cancel;
  const MaskPosition position{0, 1};
  const Status stopped = masked_lm.run(
      &session, inputs, {&position, 1}, [](size_t, std::span<const float>) { return true; }, control);
  CHECK(stopped.code() == Code::cancelled);
}

TEST_CASE("log_sum_exp() is the logarithm of the sum of the exponentials") {
  const float logits[] = {1.5f, -2, 0, 90};
  double sum = 0;
  for (const float logit : logits) sum += std::exp(static_cast<double>(logit));
  CHECK(log_sum_exp(logits) == doctest::Approx(std::log(sum)));
  const float infinite[] = {1, std::numeric_limits<float>::infinity()};
  CHECK(std::isnan(log_sum_exp(infinite)));
}

}  // namespace linformer_test::masked_lm_test
