// Tests lists of outputs of one call: their order, and their sizes, which shape() returns.
#include "support/outputs.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>

#include "base/description.h"
#include "session/variants.h"
#include "support/case_step.h"

namespace linformer_test::outputs_test {
namespace {

using namespace linformer;

using Values = std::vector<float>;

constexpr uint32_t n = 60;
constexpr size_t texts = 24;  // With so many rows each of two threads takes whole sequences.

// Adds heads of every kind: one that scores each row, one that scores pairs of texts, and two that score one text.
void add_heads(RandomModel* shape) {
  RandomHead row, pair, first, mean;
  row.pooling = Pooling::none;
  row.norm = true;
  pair.pooling = Pooling::mean;
  pair.pairing = Pairing::product_difference;
  pair.kind = HeadKind::multi_label;
  first.kind = HeadKind::regression;
  mean.pooling = Pooling::max;
  mean.kind = HeadKind::score;
  mean.score_activation = Activation::sigmoid;
  shape->head_kinds = {row, pair, first, mean};
  shape->head_classes = {3, 2, 4, 1};
}

struct Batch {
  std::vector<RandomInput> given;
  std::vector<Input> inputs;
  std::vector<MaskPosition> starts, seconds;  // In the order of the texts.
};

Batch batch_of(const Model& model, bool masks) {
  Batch batch;
  for (size_t t = 0; t < texts; ++t) {
    const int64_t length = 1 + static_cast<int64_t>(t * 37 % (n - 1));
    batch.given.push_back(linformer_test::random_input(t, model.description().encoder, length, 1 + length / 2, masks));
  }
  for (const RandomInput& input : batch.given) batch.inputs.push_back(input.view());
  for (size_t t = 0; t < texts; t += 3) batch.starts.push_back({static_cast<int64_t>(t), 0});
  for (size_t t = 1; t < texts; ++t) {
    if (batch.given[t].mask.empty() && t * 37 % (n - 1) > 0) batch.seconds.push_back({static_cast<int64_t>(t), 1});
  }
  return batch;
}

// Returns every output that the model has, without memory for values.
std::vector<Output> everything(const Session& session, const Model& model, const Batch& batch) {
  std::vector<Output> asked = {Output::pooled({}), Output::embeddings({}), Output::masked_lm({}, batch.starts),
                               Output::masked_lm({}, batch.seconds)};
  for (int layer = -1; layer <= static_cast<int>(model.description().encoder.layers.size()); ++layer) {
    asked.push_back(Output::hidden({}, layer));
  }
  for (int pooling = 0; pooling < 4; ++pooling) asked.push_back(Output::pooled({}, static_cast<Pooling>(pooling)));
  for (int head = 0; session.classes(head) > 0; ++head) {
    asked.push_back(Output::probabilities({}, head));
    asked.push_back(Output::logits({}, head));
    asked.push_back(Output::logits({}, head));  // The same output a second time.
  }
  std::erase_if(asked, [&](const Output& output) {
    const Result<Shape> shape = session.shape(output, batch.inputs);
    return !shape.ok() || shape->floats() == 0;
  });
  return asked;
}

bool is_score(const Output& output) {
  return output.kind == OutputKind::logits || output.kind == OutputKind::probabilities;
}

bool same(const Values& a, const Values& b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0);
}

void check(const Status& status) { REQUIRE_MESSAGE(status.ok(), std::string(status.message())); }

// Computes all outputs of `asked` in one call.
std::vector<Values> run(Session& session, std::span<const Input> inputs, std::vector<Output> asked) {
  std::vector<Values> values(asked.size());
  for (size_t i = 0; i < asked.size(); ++i) {
    values[i] = linformer_test::nan_buffer_for(session, inputs, asked[i]);
    asked[i].values = values[i];
  }
  check(session.run(inputs, asked));
  return values;
}

// Computes the outputs with one output and two texts in each call.
std::vector<Values> run_alone(Session& session, const Batch& batch, const std::vector<Output>& asked) {
  std::vector<Values> all(asked.size());
  for (size_t i = 0; i < asked.size(); ++i) {
    for (size_t t = 0; t < texts; t += 2) {
      Output output = asked[i];
      std::vector<MaskPosition> positions;
      for (const MaskPosition& p : asked[i].positions) {
        const int64_t text = p.sequence - static_cast<int64_t>(t);
        if (text == 0 || text == 1) positions.push_back({text, p.position});
      }
      output.positions = positions;
      if (output.kind == OutputKind::masked_lm && positions.empty()) continue;
      const Values values = run(session, std::span(batch.inputs).subspan(t, 2), {output})[0];
      all[i].insert(all[i].end(), values.begin(), values.end());
    }
  }
  return all;
}

Session session_for(const std::shared_ptr<const Model>& model, int threads, Padding padding) {
  SessionOptions options;
  options.memory.max_batch = texts;
  options.cpu.threads = threads;
  options.run.padding = padding;
  Result<Session> session = Session::create(model, options);
  check(session.status());
  return std::move(session.value());
}

TEST_CASE("for every kind of model the outputs of one call have the bits of separate calls, in any order and batch") {
  int kinds = 0;
  for (Variant variant : linformer_test::sampled_variants(2, n)) {
    CAPTURE(variant.name);
    add_heads(&variant.shape);
    constexpr ElementType types[] = {ElementType::f32, ElementType::int8, ElementType::bf16};
    variant.shape.type = types[++kinds % 3];
    const auto model = linformer_test::random_model(variant.shape);
    const Batch batch = batch_of(*model, variant.masks);
    for (const Padding padding : {Padding::strip, Padding::keep}) {
      if ((static_cast<size_t>(kinds) + (padding == Padding::keep)) % case_step(2) != 0) continue;
      std::vector<Values> expected;
      for (const int threads : {1, 2}) {
        CAPTURE(threads);
        Session session = session_for(model, threads, padding);
        const std::vector<Output> asked = everything(session, *model, batch);
        REQUIRE(asked.size() > 20);
        if (expected.empty()) expected = run_alone(session, batch, asked);
        const auto agrees = [&](const std::vector<size_t>& order) {
          std::vector<Output> some;
          for (const size_t i : order) some.push_back(asked[i]);
          const std::vector<Values> values = run(session, batch.inputs, some);
          for (size_t i = 0; i < order.size(); ++i) {
            CAPTURE(static_cast<int>(some[i].kind));
            CAPTURE(some[i].layer);
            CAPTURE(some[i].head);
            CHECK(same(values[i], expected[order[i]]));
          }
        };
        std::vector<size_t> all(asked.size());
        for (size_t i = 0; i < all.size(); ++i) all[i] = i;
        agrees(all);
        std::reverse(all.begin(), all.end());
        agrees(all);
        const size_t step = case_step(9);
        for (size_t i = static_cast<size_t>(kinds) % step; i < all.size(); i += step) agrees({all[i]});
        // A call with the scores of a single head gives whole sequences to threads, which must not change results.
        for (int head = 0; session.classes(head) > 0; ++head) {
          std::vector<size_t> some;
          for (size_t i = 0; i < asked.size(); ++i) {
            if (!is_score(asked[i]) || asked[i].head == head) some.push_back(i);
          }
          agrees(some);
        }
      }
    }
  }
}

TEST_CASE("for every kind of model run() writes as many floats as shape() returns, and refuses smaller outputs") {
  for (Variant variant : linformer_test::sampled_variants(0, n)) {
    CAPTURE(variant.name);
    add_heads(&variant.shape);
    const auto model = linformer_test::random_model(variant.shape);
    const Batch batch = batch_of(*model, variant.masks);
    Session session = session_for(model, 2, Padding::strip);
    int64_t rows = 0;
    for (const Input& input : batch.inputs) rows += session.shape(Output::hidden({}), std::span(&input, 1))->rows;
    for (Output output : everything(session, *model, batch)) {
      CAPTURE(static_cast<int>(output.kind));
      const Shape shape = *session.shape(output, batch.inputs);
      CHECK(shape == *session.shape(output, texts, rows));
      if (is_score(output)) CHECK(shape.columns == session.classes(output.head));
      const size_t floats = static_cast<size_t>(shape.floats());
      Values values(floats + 5, NAN);
      output.values = std::span(values).first(floats - 1);
      CHECK(session.run(batch.inputs, output).code() == Code::too_long);
      CHECK(std::all_of(values.begin(), values.end(), [](float value) { return std::isnan(value); }));
      output.values = values;
      check(session.run(batch.inputs, output));
      const auto end = values.begin() + static_cast<std::ptrdiff_t>(floats);
      CHECK(std::all_of(values.begin(), end, [](float value) { return std::isfinite(value); }));
      CHECK(std::all_of(end, values.end(), [](float value) { return std::isnan(value); }));
    }
  }
}

TEST_CASE("shape() returns sizes that grow with texts and rows") {
  RandomModel shape;
  add_heads(&shape);
  shape.prefix_token = true;
  SessionOptions options;
  options.memory.max_batch = 4;
  Session session = std::move(Session::create(linformer_test::random_model(shape), options).value());
  CHECK(*session.shape(Output::hidden({}), 4, 4 * session.output_rows(47)) == Shape{4 * 48, 32});
  CHECK(*session.shape(Output::logits({}, 0), 4, 100) == Shape{100, 3});
  CHECK(*session.shape(Output::logits({}, 1), 4, 100) == Shape{2, 2});
  CHECK(*session.shape(Output::probabilities({}, 2), 4, 100) == Shape{4, 4});
  CHECK(*session.shape(Output::pooled({}), 0, 0) == Shape{0, 32});
  CHECK(session.shape(Output::pooled({}), -1, 0).status().code() == Code::invalid_argument);
  CHECK(session.shape(Output::pooled({}), 1, -1).status().code() == Code::invalid_argument);
}

// Pooling processes at most 512 columns at once. The rows have 1,044 columns, so the last block is smaller.
TEST_CASE("mean and max pooling of wide rows are right") {
  RandomModel shape;
  shape.d_model = 1044;
  Session session = std::move(Session::create(linformer_test::random_model(shape), {}).value());
  const std::vector<int32_t> ids = linformer_test::random_ids(2, 9, 50);
  Input text;
  text.tokens = ids;
  const std::vector<Values> values = run(
      session, {&text, 1}, {Output::hidden({}), Output::pooled({}, Pooling::mean), Output::pooled({}, Pooling::max)});
  REQUIRE(values[1].size() == shape.d_model);
  REQUIRE(values[2].size() == shape.d_model);
  for (size_t j = 0; j < shape.d_model; ++j) {
    double sum = 0;
    float most = -INFINITY;
    for (size_t r = 0; r < ids.size(); ++r) {
      sum += static_cast<double>(values[0][r * shape.d_model + j]);
      most = std::max(most, values[0][r * shape.d_model + j]);
    }
    REQUIRE(values[1][j] == static_cast<float>(sum / static_cast<double>(ids.size())));
    REQUIRE(values[2][j] == most);
  }
}

// Returns whether shape() and run() refuse the output with the same error, which contains `part`, and write nothing.
bool both_refuse(Session& session, std::span<const Input> inputs, Output output, const char* part) {
  Values good(4096, 42.f), bad(4096, 42.f);
  output.values = bad;
  const Status said = session.shape(output, inputs).status();
  const Status refused = session.run(inputs, {Output::hidden(good), output, Output::pooled(good)});
  INFO(std::string(refused.message()));
  CHECK(said.code() == Code::invalid_argument);
  CHECK(std::string(said.message()) == refused.message());
  const auto untouched = [](float value) { return value == 42.f; };
  return refused.code() == said.code() && std::strstr(refused.message(), part) != nullptr &&
         std::all_of(good.begin(), good.end(), untouched) && std::all_of(bad.begin(), bad.end(), untouched);
}

TEST_CASE("shape() and run() refuse outputs that the model lacks with the same errors") {
  const std::vector<int32_t> ids = linformer_test::random_ids(1, 9, 50);
  Input text;
  text.tokens = ids;
  RandomModel shape;
  add_heads(&shape);
  shape.masked_lm = false;
  Session session = std::move(Session::create(linformer_test::random_model(shape), {}).value());
  const auto refuses = [&](const Output& output, const char* part) {
    return both_refuse(session, {&text, 1}, output, part);
  };
  CHECK(refuses(Output::hidden({}, 3), "hidden layer 3: this model has 0 (embedding) to 2, or -1"));
  CHECK(refuses(Output::hidden({}, -2), "hidden layer -2"));
  CHECK(refuses(Output::logits({}, 4), "classification head 4: this model has 4"));
  CHECK(refuses(Output::probabilities({}, -1), "classification head -1"));
  CHECK(refuses(Output::logits({}, 1), "compares pairs of texts: the batch has 1, not an even number"));
  CHECK(refuses(Output::pooled({}, Pooling::none), "can't have pooling number 4"));
  CHECK(refuses(Output::pooled({}, static_cast<Pooling>(9)), "can't have pooling number 9"));
  CHECK(refuses(Output::embeddings({}), "doesn't say how its texts are embedded"));
  const MaskPosition start{0, 0};
  CHECK(refuses(Output::masked_lm({}, {&start, 1}), "this model has no masked-LM head"));
  Output unknown;
  unknown.kind = static_cast<OutputKind>(6);
  CHECK(refuses(unknown, "there is no output number 6"));
  // An output without values isn't computed, but it must be valid.
  CHECK(session.run({&text, 1}, {Output::hidden({}), Output::pooled({})}).ok());
  CHECK(session.run({&text, 1}, Output::hidden({}, 3)).code() == Code::invalid_argument);

  shape.decoder = true;
  shape.key_sources = {KeySource::own, KeySource::encoder_states};
  Session encoder = std::move(Session::create(linformer_test::random_model(shape), {}).value());
  for (const Output& output : {Output::logits({}), Output::probabilities({}), Output::embeddings({})}) {
    CHECK(both_refuse(encoder, {&text, 1}, output,
                      "the encoder of an encoder-decoder gives only hidden and pooled outputs"));
  }
  CHECK(encoder.classes(0) == 0);
}

TEST_CASE("a call takes at most Outputs::most outputs") {
  RandomModel shape;
  Session session = std::move(Session::create(linformer_test::random_model(shape), {}).value());
  const std::vector<int32_t> ids = linformer_test::random_ids(1, 9, 50);
  const Tokens text = ids;
  std::vector<Values> values(Outputs::most + 1, Values(32, 42.f));
  std::vector<Output> outputs;
  for (Values& one : values) outputs.push_back(Output::pooled(one, Pooling::mean));
  const Status refused = session.run({&text, 1}, outputs);
  CHECK(refused.code() == Code::too_long);
  CHECK(std::string(refused.message()) == "a call has 4097 outputs: ask for at most 4096");
  CHECK(values[0][0] == 42.f);
  outputs.pop_back();
  check(session.run({&text, 1}, outputs));
  CHECK(values[0][0] != 42.f);
  for (size_t i = 1; i < Outputs::most; ++i) REQUIRE(values[i] == values[0]);
  CHECK(session.run({&text, 1}, {}).ok());  // A call may have no outputs.
}

TEST_CASE("classes() is the number of classes of a head, and 0 for an unknown head") {
  RandomModel shape;
  add_heads(&shape);
  const Session session = std::move(Session::create(linformer_test::random_model(shape), {}).value());
  for (const auto& [head, classes] : {std::pair{0, 3}, {1, 2}, {2, 4}, {3, 1}, {4, 0}, {-1, 0}}) {
    CHECK(session.classes(head) == classes);
  }
}

using Rows = std::vector<int64_t>;

Rows rows_of(const Session& session, const Input& input, int64_t rows) {
  Rows found(static_cast<size_t>(rows) + 1, 42);
  check(session.row_tokens(input, found));
  CHECK(found.back() == 42);
  found.pop_back();
  return found;
}

TEST_CASE("row_tokens() returns the token of each output row") {
  const std::vector<int32_t> ids = {5, 1, 7, 8, 1, 9};
  const std::vector<uint8_t> mask = {1, 1, 0, 1, 1, 1};
  Input text, masked;
  text.tokens = masked.tokens = ids;
  masked.mask = mask;
  for (const bool prefix : {false, true}) {
    RandomModel shape;
    shape.prefix_token = prefix;
    const auto model = linformer_test::random_model(shape);
    const int64_t rows = prefix ? 7 : 6;
    const auto expected = [&](Rows tokens) {
      if (prefix) tokens.insert(tokens.begin(), -1);
      tokens.resize(static_cast<size_t>(rows), -1);
      return tokens;
    };
    Session stripped = session_for(model, 1, Padding::strip), kept = session_for(model, 1, Padding::keep);
    CHECK(rows_of(stripped, text, rows) == expected({0, 2, 3, 5}));
    CHECK(rows_of(stripped, masked, rows) == expected({0, 3, 5}));
    CHECK(rows_of(kept, text, rows) == expected({0, 1, 2, 3, 4, 5}));
    CHECK(rows_of(kept, masked, rows) == expected({0, 1, 2, 3, 4, 5}));
    // Except for the prefix, the rows without a token are those that run() fills with zeros.
    Values hidden = linformer_test::nan_buffer_for(stripped, std::span(&masked, 1), Output::hidden({}));
    check(stripped.run({&masked, 1}, Output::hidden(hidden)));
    const Rows tokens = rows_of(stripped, masked, rows);
    for (size_t r = prefix ? 1 : 0; r < tokens.size(); ++r) {
      const auto row = hidden.begin() + static_cast<std::ptrdiff_t>(r * 32);
      CHECK(std::all_of(row, row + 32, [](float value) { return value == 0; }) == (tokens[r] == -1));
    }
    Rows small(static_cast<size_t>(rows) - 1);
    CHECK(stripped.row_tokens(text, small).code() == Code::too_long);
    Input wrong = text;
    wrong.mask = std::span(mask).first(5);
    Rows room(8);
    CHECK(stripped.row_tokens(wrong, room).code() == Code::invalid_argument);
    const Values vectors(8);
    wrong = {};
    wrong.vectors = vectors;
    CHECK(stripped.row_tokens(wrong, room).code() == Code::invalid_argument);
  }
}

}  // namespace

}  // namespace linformer_test::outputs_test
