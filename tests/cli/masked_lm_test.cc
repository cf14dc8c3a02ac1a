// Masked-LM logits of a batch: each text is run once, whatever the memory for logits.
#include "models/masked_lm.h"

#include <doctest/doctest.h>

#include "command_line/errors.h"
#include "layer_flop.h"
#include "support/outputs.h"
#include "support/random_model.h"

using namespace linformer;
using namespace linformer::cli;
using linformer_test::first_layer_flop;

TEST_CASE("masked-LM logits: whole texts that fit, each once; only one with more masks is run again") {
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

  Session plain = take(Session::create(model, options));
  std::vector<float> expected = linformer_test::room_for(plain, inputs, Output::masked_lm({}, positions));
  check(plain.run(inputs, Output::masked_lm(expected, positions)));
  std::vector<double> flop;  // of each text
  for (const Input& input : inputs) {
    Session one = take(Session::create(model, options));
    check(one.run({&input, 1}, {}));
    flop.push_back(first_layer_flop(one));
  }
  const double once = flop[0] + flop[2] + flop[3] + flop[4] + flop[5];  // text 1 has no mask

  const auto runs = [&](int64_t at_once) {
    CAPTURE(at_once);
    Session session = take(Session::create(model, options));
    std::vector<float> logits;
    size_t next = 0;
    MaskedLm(shape.vocabulary, at_once).run(&session, inputs, positions, [&](size_t i, std::span<const float> row) {
      CHECK(i == next++);
      CHECK(row.size() == shape.vocabulary);
      logits.insert(logits.end(), row.begin(), row.end());
    });
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

TEST_CASE("masked-LM logits: nothing is run without a mask") {
  const linformer_test::RandomModel shape;
  SessionOptions options;
  options.profile = true;
  Session session = take(Session::create(linformer_test::random_model(shape), options));
  const std::vector<int32_t> ids = linformer_test::random_ids(1, 9, shape.vocabulary);
  Input input;
  input.tokens = ids;
  MaskedLm(shape.vocabulary).run(&session, {&input, 1}, {}, [](size_t, std::span<const float>) { CHECK(false); });
  CHECK(first_layer_flop(session) == 0);
}
