// Tests SequenceBatch, which collects sequences for one call of a session.
#include "linformer/sequence_batch.h"

#include <doctest/doctest.h>

#include <cmath>
#include <vector>

#include "cli/sentiment_model.h"

namespace linformer_test::sequence_batch_test {
namespace {

using namespace linformer;

struct Planned {
  explicit Planned(const SentimentModel& shape, int64_t max_rows = 0) : files(shape) {
    SessionOptions options;
    options.memory.max_batch = 3;
    options.memory.max_rows = max_rows;
    Result<Session> made = Session::create(*Model::load(files.model().c_str()), options);
    REQUIRE_MESSAGE(made.ok(), made.status().message());
    session.emplace(std::move(*made));
  }
  SequenceBatch batch(const SequenceBatchOptions& options = {}) {
    Result<SequenceBatch> made = SequenceBatch::create(*session, options);
    REQUIRE_MESSAGE(made.ok(), made.status().message());
    return std::move(*made);
  }
  CliFixture files;
  std::optional<Session> session;
};

TEST_CASE("a batch is full at the session's limits of sequences and rows, or at smaller ones") {
  Planned planned({}, 20);
  SequenceBatch batch = planned.batch();
  const int32_t ids[] = {2, 5, 6, 7, 3};
  CHECK(batch.empty());
  CHECK(batch.fits(20));
  CHECK_FALSE(batch.fits(21));
  CHECK_FALSE(batch.fits(4, 4));
  CHECK(batch.rows_of(5) == 5);
  REQUIRE(batch.add(ids).ok());
  REQUIRE(batch.add(ids).ok());
  CHECK(batch.size() == 2);
  CHECK(batch.rows() == 10);
  CHECK(batch.fits(10));
  CHECK_FALSE(batch.fits(11));
  CHECK_FALSE(batch.fits(4, 2));
  REQUIRE(batch.add(ids).ok());
  CHECK_FALSE(batch.fits(1));
  batch.clear();
  CHECK(batch.empty());
  CHECK(batch.rows() == 0);
  CHECK(batch.inputs().empty());
  CHECK(batch.fits(20));
  CHECK_FALSE(planned.batch({8, 0, -1}).fits(9));
  CHECK(planned.batch({8, 0, -1}).fits(8));
  CHECK_FALSE(planned.batch({1000, 0, -1}).fits(21));
  CHECK(batch.fits(INT64_MIN));
  CHECK_FALSE(batch.fits(INT64_MAX, INT64_MAX));
  CHECK(batch.rows_of(SIZE_MAX) > 0);
}

TEST_CASE("a batch returns the ids and types that were added, with padding if requested") {
  Planned planned({});
  SequenceBatch batch = planned.batch({0, 4, 0});
  const int32_t shorter[] = {2, 3}, longer[] = {2, 5, 6, 7, 3};
  const uint8_t types[] = {0, 1, 0, 1, 1};
  CHECK(batch.rows_of(2) == 4);
  CHECK(batch.rows_of(5) == 5);
  CHECK(batch.add(shorter, std::span(types).first(1)).code() == Code::invalid_argument);
  CHECK(batch.empty());
  REQUIRE(batch.add(shorter).ok());
  REQUIRE(batch.add(longer, types).ok());
  CHECK(batch.rows() == 9);
  const std::span<const Input> inputs = batch.inputs();
  REQUIRE(inputs.size() == 2);
  CHECK(std::vector<int32_t>(inputs[0].tokens.begin(), inputs[0].tokens.end()) == std::vector<int32_t>{2, 3, 0, 0});
  CHECK(std::vector<uint8_t>(inputs[0].types.begin(), inputs[0].types.end()) == std::vector<uint8_t>{0, 0, 0, 0});
  CHECK(std::vector<int32_t>(inputs[1].tokens.begin(), inputs[1].tokens.end()) == std::vector<int32_t>{2, 5, 6, 7, 3});
  CHECK(std::vector<uint8_t>(inputs[1].types.begin(), inputs[1].types.end()) == std::vector<uint8_t>{0, 1, 0, 1, 1});
  // A call with the batch gives the same bits as calls with one sequence.
  std::vector<float> together(2 * 3, NAN), alone(3, NAN);
  REQUIRE(planned.session->run(inputs, Output::logits(together)).ok());
  const Tokens texts[] = {longer};
  REQUIRE(planned.session->run(texts, Output::logits(alone)).ok());
  CHECK(std::vector<float>(together.begin() + 3, together.end()) == alone);
  CHECK(SequenceBatch::create(*planned.session, {-1, 0, 0}).status().code() == Code::invalid_argument);
  CHECK(SequenceBatch::create(*planned.session, {0, -4, 0}).status().code() == Code::invalid_argument);
  CHECK(SequenceBatch::create(*planned.session, {0, 4, -1}).status().code() == Code::invalid_argument);
}

TEST_CASE("a batch of vectors counts the row that the model puts before them") {
  SentimentModel shape;
  shape.vectors = true;
  shape.tokenizer = false;
  Planned planned(shape);
  SequenceBatch batch = planned.batch();
  std::vector<float> values(3 * sentiment_width);
  for (size_t i = 0; i < values.size(); ++i) values[i] = 0.25f * static_cast<float>(i % 5);
  CHECK(batch.add_vectors(values, -1).code() == Code::invalid_argument);
  CHECK(batch.add_vectors(values, INT64_MAX).code() == Code::invalid_argument);
  CHECK(batch.empty());
  REQUIRE(batch.add_vectors(values, 3).ok());
  REQUIRE(batch.add_vectors(std::span(values).first(sentiment_width), 1).ok());
  CHECK(batch.rows() == 4 + 2);
  std::vector<float> together(2 * 3, NAN), alone(3, NAN);
  REQUIRE(planned.session->run(batch.inputs(), Output::logits(together)).ok());
  Input input;
  input.vectors = values;
  REQUIRE(planned.session->run({&input, 1}, Output::logits(alone)).ok());
  CHECK(std::vector<float>(together.begin(), together.begin() + 3) == alone);
}

}  // namespace
}  // namespace linformer_test::sequence_batch_test
