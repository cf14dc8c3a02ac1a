// Tests that Session::run(std::span<const Input>) refuses invalid inputs with an error that names the thing, and then
// writes nothing.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <string>

#include "base/description.h"
#include "support/random_model.h"

namespace linformer_test::inputs_test {
namespace {

using namespace linformer;

// A session, and memory for outputs that is filled with 42 before each call.
class Refusals {
 public:
  explicit Refusals(const RandomModel& shape, Part part = Part::encoder) {
    SessionOptions options;
    options.memory.max_batch = 4;
    options.memory.max_encoder_states = 9;
    options.run.part = part;
    Result<Session> created = Session::create(linformer_test::random_model(shape), options);
    REQUIRE_MESSAGE(created.ok(), std::string(created.status().message()));
    session_ = std::make_unique<Session>(std::move(created.value()));
  }

  // Returns whether the run is refused with a message that contains `part`, and writes nothing. The span of `output`
  // must point into `room`.
  bool says(const std::vector<Input>& inputs, const Output& output, const char* part) {
    std::fill(room.begin(), room.end(), 42.f);
    const Status status = session_->run(inputs, output);
    INFO(std::string(status.message()));
    const bool untouched = std::all_of(room.begin(), room.end(), [](float value) { return value == 42.f; });
    return !status.ok() && untouched && std::strstr(status.message(), part) != nullptr;
  }
  bool says(const std::vector<Input>& inputs, const char* part) { return says(inputs, Output::pooled(room), part); }
  bool accepts(const std::vector<Input>& inputs) {
    std::fill(room.begin(), room.end(), 42.f);
    const Status status = session_->run(inputs, Output::pooled(room));
    INFO(std::string(status.message()));
    return status.ok() && room[0] != 42.f;
  }
  std::span<float> first(size_t count) { return std::span(room).first(count); }

  std::vector<float> room = std::vector<float>(4096);

 private:
  std::unique_ptr<Session> session_;
};

const std::vector<int32_t> ids = {5, 6, 7, 8, 9};
const std::vector<uint8_t> bytes(8, 1);
const std::vector<float> floats(512, 0.5f);

Input text(size_t count = 5) {
  Input input;
  input.tokens = std::span(ids).first(count);
  return input;
}

TEST_CASE("run refuses masks and types whose length differs from the text's") {
  RandomModel shape;
  shape.token_types = 2;
  Refusals refusals(shape);
  Input input = text();
  input.mask = std::span(bytes).first(4);
  CHECK(refusals.says({text(), input}, "text 1 has 4 mask entries for 5 tokens"));
  input = text();
  input.query_mask = std::span(bytes).first(6);
  CHECK(refusals.says({input}, "text 0 has 6 query mask entries for 5 tokens"));
  input = text();
  input.types = std::span(bytes).first(1);
  CHECK(refusals.says({input}, "text 0 has 1 token types for 5 tokens"));
  const std::vector<uint8_t> beyond = {0, 1, 2, 0, 0};
  input.types = beyond;
  CHECK(refusals.says({input}, "text 0, token 2: token type 2, but the model has only 2 types"));
  const std::vector<uint8_t> nothing(5, 0);
  input.types = {};
  input.mask = nothing;
  CHECK(refusals.says({input}, "text 0 has no tokens"));
  input.mask = input.types = std::span(bytes).first(5);
  CHECK(refusals.accepts({input}));
}

TEST_CASE("run refuses vectors if the model takes tokens, and tokens if it takes vectors") {
  Refusals tokens({});
  Input vectors;
  vectors.vectors = std::span(floats).first(32);
  CHECK(tokens.says({vectors}, "text 0 has vectors, but this model takes tokens"));
  Input both = text();
  both.vectors = vectors.vectors;
  CHECK(tokens.says({both}, "text 0 has vectors, but this model takes tokens"));
  RandomModel shape;
  shape.vector_width = 8;
  shape.prefix = true;
  Refusals takes_vectors(shape);
  CHECK(takes_vectors.says({text()}, "text 0 has tokens, but this model takes vectors"));
  vectors.vectors = std::span(floats).first(33);
  CHECK(takes_vectors.says({vectors}, "text 0 has 33 floats, which is not a multiple of the width 8"));
  vectors.vectors = {};
  CHECK(takes_vectors.says({vectors}, "text 0 has no vectors"));
  vectors.vectors = std::span(floats).first(8 * 48);  // With the prefix there is one row too many.
  CHECK(takes_vectors.says({vectors}, "text 0 has 49 vectors with its prefix"));
  vectors.vectors = std::span(floats).first(8 * 47);
  vectors.mask = std::span(bytes).first(7);
  CHECK(takes_vectors.says({vectors}, "text 0 has 7 mask entries for 47 vectors"));
  vectors.mask = {};
  CHECK(takes_vectors.accepts({vectors}));
}

TEST_CASE("run refuses a text that is too long with the token before it, instead of cutting it") {
  RandomModel shape;
  shape.prefix_token = true;
  Refusals refusals(shape);
  const std::vector<int32_t> many(480, 5);
  const auto of = [&](size_t count) {
    Input input;
    input.tokens = std::span(many).first(count);
    return input;
  };
  CHECK(refusals.says({of(4), of(48)}, "text 1 has 49 tokens with its prefix and the session was planned for 48"));
  CHECK(refusals.says({of(480)}, "text 0 has 481 tokens with its prefix"));
  CHECK(refusals.accepts({of(47)}));
}

TEST_CASE("run refuses encoder states that are missing, unwanted, too long or cut") {
  RandomModel shape;
  Refusals own(shape);
  Input input = text();
  input.encoder_states = std::span(floats).first(32);
  CHECK(own.says({input}, "text 0 has encoder states, but this model reads none"));
  shape.key_sources = {KeySource::encoder_states};
  shape.encoder_states_width = 16;
  Refusals states(shape);
  CHECK(states.says({input, text()}, "text 1 has no encoder states"));
  input.encoder_states = std::span(floats).first(31);
  CHECK(states.says({input}, "text 0 has encoder states of 31 floats, but the model reads rows of 16"));
  input.encoder_states = std::span(floats).first(16 * 10);
  CHECK(states.says({input}, "text 0 has 10 rows of encoder states and the session was planned for 9: plan for more"));
  input.encoder_states = std::span(floats).first(16 * 9);
  input.encoder_states_mask = std::span(bytes).first(8);
  CHECK(states.says({input}, "text 0 has 8 encoder state mask entries for 9 rows of encoder states"));
  input.encoder_states_mask = {};
  CHECK(states.accepts({input}));
  shape.key_sources = {KeySource::encoder_states_or_own};
  shape.encoder_states_width = 0;
  Refusals either(shape);
  input.encoder_states = std::span(floats).first(shape.d_model);
  CHECK(either.says({input, text()}, "text 1 has no encoder states, unlike text 0"));
  CHECK(either.says({text(), input}, "text 1 has its own encoder states, unlike text 0"));
  CHECK(either.accepts({text()}));
}

TEST_CASE("run refuses outputs of scores with a wrong size") {
  RandomModel shape;
  shape.head_classes = {3, 2};
  linformer_test::RandomHead pairs, rows;
  pairs.pairing = Pairing::product_difference;
  rows.pooling = Pooling::none;
  shape.head_kinds = {pairs, rows};
  Refusals refusals(shape);
  const auto says = [&](const std::vector<Input>& inputs, const Output& output, const char* part) {
    return refusals.says(inputs, output, part);
  };
  CHECK(says({text()}, Output::logits(refusals.first(3), 0),
             "head 'head0' compares pairs of texts: the batch has 1, not an even number"));
  CHECK(says({text(3), text(2)}, Output::probabilities(refusals.first(9), 1),
             "the probabilities output has room for 9 floats, but 5 x 2 are computed"));
  CHECK(says({text(), text()}, Output::logits(refusals.first(2), 0),
             "the logits output has room for 2 floats, but 1 x 3 are computed"));
  CHECK(says({text(), text()}, Output::logits(refusals.first(3), 2), "classification head 2: this model has 2"));
  CHECK(says({text(), text()}, Output::probabilities(refusals.first(3), -1), "classification head -1"));
}

TEST_CASE("run refuses poolings and embeddings that the model lacks") {
  Refusals refusals({});
  CHECK(refusals.says({text()}, Output::pooled(refusals.first(32), Pooling::none), "can't have pooling number 4"));
  CHECK(refusals.says({text()}, Output::embeddings(refusals.first(32)), "doesn't say how its texts are embedded"));
  RandomModel shape;
  shape.sentence_embedding = true;
  shape.embedding_dense = 7;
  Refusals embeds(shape);
  CHECK(embeds.says({text()}, Output::embeddings(embeds.first(6)),
                    "the embeddings output has room for 6 floats, but 1 x 7 are computed"));
}

TEST_CASE("the encoder and the decoder of a model refuse outputs that they lack") {
  SessionOptions options;
  options.run.part = Part::decoder;
  const Result<Plan> refused = plan(*linformer_test::random_model({}), options, Machine());
  REQUIRE(!refused.ok());
  CHECK(refused.status().code() == Code::invalid_argument);
  CHECK(std::strstr(refused.status().message(), "this model has no decoder") != nullptr);
  options = {};
  options.memory.max_encoder_states = 49;
  RandomModel shape;
  shape.decoder = true;
  shape.key_sources = {KeySource::own, KeySource::encoder_states};
  options.run.part = Part::decoder;
  CHECK(!plan(*linformer_test::random_model(shape), options, Machine()).ok());

  Refusals encoder(shape);
  CHECK(encoder.says({text()}, Output::logits(encoder.first(3)),
                     "the encoder of an encoder-decoder gives only hidden and pooled outputs"));
  const MaskPosition start{0, 0};
  CHECK(encoder.says({text()}, Output::masked_lm(encoder.first(shape.vocabulary), {&start, 1}),
                     "the encoder of an encoder-decoder gives only hidden and pooled outputs"));
  Refusals decoder(shape, Part::decoder);
  CHECK(decoder.says({text()}, "text 0 has no encoder states"));
}

}  // namespace

}  // namespace linformer_test::inputs_test
