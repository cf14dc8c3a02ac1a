// What Session::run(std::span<const Input>) refuses, by name, and that nothing is written then.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <string>

#include "support/random_model.h"

namespace {

using namespace linformer;
using linformer_test::RandomModel;

// A session, and outputs that are all 42 until a call succeeds.
class Refusals {
 public:
  explicit Refusals(const RandomModel& shape, Part part = Part::encoder) {
    SessionOptions options;
    options.max_batch = 4;
    options.max_memory = 9;
    options.part = part;
    Result<Session> created = Session::create(linformer_test::random_model(shape), options);
    REQUIRE_MESSAGE(created.ok(), std::string(created.status().message()));
    session_ = std::make_unique<Session>(std::move(created.value()));
  }

  // Every span that `outputs` has must point into `room`.
  bool says(const std::vector<Input>& inputs, const Outputs& outputs, const char* part) {
    std::fill(room.begin(), room.end(), 42.f);
    const Status status = session_->run(inputs, outputs);
    INFO(std::string(status.message()));
    const bool untouched = std::all_of(room.begin(), room.end(), [](float value) { return value == 42.f; });
    return !status.ok() && untouched && std::strstr(status.message(), part) != nullptr;
  }
  bool says(const std::vector<Input>& inputs, const char* part) {
    Outputs outputs;
    outputs.pooled = std::span(room).first(inputs.size() * static_cast<size_t>(session_->hidden_width(-1)));
    return says(inputs, outputs, part);
  }
  bool accepts(const std::vector<Input>& inputs) {
    Outputs outputs;
    outputs.pooled = std::span(room).first(inputs.size() * static_cast<size_t>(session_->hidden_width(-1)));
    std::fill(room.begin(), room.end(), 42.f);
    const Status status = session_->run(inputs, outputs);
    INFO(std::string(status.message()));
    return status.ok() && outputs.pooled[0] != 42.f;
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

TEST_CASE("run refuses masks and types of another length") {
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
  CHECK(refusals.says({input}, "text 0, token 2: type 2, the model has 2"));
  const std::vector<uint8_t> nothing(5, 0);
  input.types = {};
  input.mask = nothing;
  CHECK(refusals.says({input}, "text 0 has no tokens"));
  input.mask = input.types = std::span(bytes).first(5);
  CHECK(refusals.accepts({input}));
}

TEST_CASE("run refuses vectors where tokens are due, and the other way round") {
  Refusals tokens({});
  Input vectors;
  vectors.vectors = std::span(floats).first(32);
  CHECK(tokens.says({vectors}, "text 0 is made of vectors, but this model takes tokens"));
  RandomModel shape;
  shape.vector_width = 8;
  shape.prefix = true;
  Refusals takes_vectors(shape);
  CHECK(takes_vectors.says({text()}, "text 0 is made of tokens, but this model takes vectors"));
  vectors.vectors = std::span(floats).first(33);
  CHECK(takes_vectors.says({vectors}, "text 0 has 33 floats, which are no vectors of 8"));
  vectors.vectors = {};
  CHECK(takes_vectors.says({vectors}, "text 0 has no tokens"));
  vectors.vectors = std::span(floats).first(8 * 48);  // and the prefix
  CHECK(takes_vectors.says({vectors}, "text 0 has 49 tokens"));
  vectors.vectors = std::span(floats).first(8 * 47);
  CHECK(takes_vectors.accepts({vectors}));
}

TEST_CASE("run refuses what a token before the text leaves no room for, instead of cutting it") {
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

TEST_CASE("run refuses a memory that is missing, unwanted, too long or cut") {
  RandomModel shape;
  Refusals own(shape);
  Input input = text();
  input.memory = std::span(floats).first(32);
  CHECK(own.says({input}, "text 0 has a memory of 32 floats, the model takes rows of 0"));
  shape.key_sources = {KeySource::memory};
  shape.memory_width = 16;
  Refusals memory(shape);
  CHECK(memory.says({input, text()}, "text 1 has no memory"));
  input.memory = std::span(floats).first(31);
  CHECK(memory.says({input}, "text 0 has a memory of 31 floats, the model takes rows of 16"));
  input.memory = std::span(floats).first(16 * 10);
  CHECK(memory.says({input}, "text 0 has a memory of 10 rows and the session was planned for 9"));
  input.memory = std::span(floats).first(16 * 9);
  input.memory_mask = std::span(bytes).first(8);
  CHECK(memory.says({input}, "text 0 has 8 memory mask entries"));
  input.memory_mask = {};
  CHECK(memory.accepts({input}));
  shape.key_sources = {KeySource::memory_or_own};
  shape.memory_width = 0;
  Refusals either(shape);
  input.memory = std::span(floats).first(shape.d_model);
  CHECK(either.says({input, text()}, "text 1 has no memory"));
  CHECK(either.accepts({text()}));
}

TEST_CASE("run refuses scores that do not fit") {
  RandomModel shape;
  shape.head_classes = {3, 2};
  linformer_test::RandomHead pairs, rows;
  pairs.pairing = Pairing::product_difference;
  rows.pooling = Pooling::none;
  shape.head_kinds = {pairs, rows};
  Refusals refusals(shape);
  std::vector<HeadScores> scores;
  const auto says = [&](const std::vector<Input>& inputs, const char* part) {
    Outputs outputs;
    outputs.scores = scores;
    return refusals.says(inputs, outputs, part);
  };
  scores = {{1, refusals.first(10), {}}, {0, refusals.first(3), {}}};
  CHECK(says({text()}, "head 'head0' compares texts two by two, and the batch has 1"));
  scores = {{0, refusals.first(3), {}}, {1, {}, refusals.first(9)}};
  CHECK(says({text(3), text(2)}, "the probabilities output holds 9 floats where 5 x 2 are computed"));
  scores = {{0, refusals.first(6), {}}};
  CHECK(says({text(), text()}, "the logits output holds 6 floats where 1 x 3 are computed"));
  scores = {{2, refusals.first(3), {}}};
  CHECK(says({text(), text()}, "classification head 2: this model has 2"));
  scores = {{-1, refusals.first(3), {}}};
  CHECK(says({text(), text()}, "classification head -1"));
}

TEST_CASE("run refuses poolings and embeddings that a model does not have") {
  Refusals refusals({});
  Outputs outputs;
  outputs.pooled = refusals.first(32);
  outputs.pooling = Pooling::none;
  CHECK(refusals.says({text()}, outputs, "can't be none"));
  outputs = {};
  outputs.embeddings = refusals.first(32);
  CHECK(refusals.says({text()}, outputs, "doesn't say how its texts are embedded"));
  RandomModel shape;
  shape.sentence_embedding = true;
  shape.embedding_dense = 7;
  Refusals embeds(shape);
  outputs.embeddings = embeds.first(32);
  CHECK(embeds.says({text()}, outputs, "the embeddings output holds 32 floats where 1 x 7 are computed"));
}

TEST_CASE("the parts of a model are asked for what they have") {
  SessionOptions options;
  options.part = Part::decoder;
  const Result<Plan> refused = plan(*linformer_test::random_model({}), options);
  REQUIRE(!refused.ok());
  CHECK(refused.status().code() == Code::invalid_argument);
  CHECK(std::strstr(refused.status().message(), "this model has no decoder") != nullptr);
  options = {};
  options.max_memory = 49;
  RandomModel shape;
  shape.decoder = true;
  shape.key_sources = {KeySource::own, KeySource::memory};
  options.part = Part::decoder;
  CHECK(!plan(*linformer_test::random_model(shape), options).ok());

  Refusals encoder(shape);
  Outputs outputs;
  outputs.logits = encoder.first(3);
  CHECK(encoder.says({text()}, outputs, "the encoder of an encoder-decoder has no heads"));
  const MaskPosition start{0, 0};
  outputs = {};
  outputs.mlm_positions = {&start, 1};
  outputs.mlm_logits = encoder.first(shape.vocabulary);
  CHECK(encoder.says({text()}, outputs, "the encoder of an encoder-decoder has no heads"));
  Refusals decoder(shape, Part::decoder);
  CHECK(decoder.says({text()}, "text 0 has no memory"));
}

}  // namespace
