// Tests the fields of lnf_input, and models that read vectors.
#include <doctest/doctest.h>
#include <linformer.h>

#include <string>
#include <vector>

#include "support/random_model.h"

namespace linformer_test::inputs_test {
namespace {

using namespace linformer;

TEST_CASE("masks, token types and encoder states change the outputs as in C++") {
  RandomModel shape;
  shape.token_types = 2;
  shape.row_mask = RowMask::zeroed;
  shape.kinds = {ProjectionKind::none};
  shape.key_sources = {KeySource::own, KeySource::encoder_states};
  shape.encoder_states_width = 21;
  constexpr int64_t count = 20, states = 9;
  const writer::AlignedBytes bytes = random_builder(shape).serialize();
  lnf_model* model = nullptr;
  lnf_session* session = nullptr;
  lnf_status status{};
  REQUIRE(lnf_model_load_memory(bytes.data(), bytes.size(), nullptr, nullptr, nullptr, &model, &status) == LNF_OK);
  lnf_session_options options;
  lnf_session_options_init(&options);
  options.padding = LNF_PADDING_KEEP;
  options.block_rows = 32;
  REQUIRE_MESSAGE(lnf_session_create(model, &options, &session, &status) == LNF_OK, status.message);
  uint64_t small = 0, large = 0;
  CHECK(lnf_plan_bytes(model, &options, &small, &status) == LNF_OK);
  options.block_rows = 256;
  CHECK(lnf_plan_bytes(model, &options, &large, &status) == LNF_OK);
  CHECK(small < large);
  options.device = 0;
  lnf_session* on_device = nullptr;
  lnf_status planned{};
  if (lnf_session_create(model, &options, &on_device, &status) == LNF_UNSUPPORTED) {  // This build has no CUDA.
    CHECK(lnf_plan_bytes(model, &options, &large, &planned) == LNF_UNSUPPORTED);
    CHECK(std::string(planned.message) == status.message);
  }
  lnf_session_free(on_device);
  options.device = -1;

  const auto loaded = random_model(shape);
  RandomInput random = random_input(3, loaded->description().encoder, count, states, true);
  random.types.assign(static_cast<size_t>(count), 0);
  random.types[4] = random.types[11] = 1;
  lnf_input all;
  lnf_input_init(&all);
  all.ids = random.tokens.data();
  all.count = random.tokens.size();
  all.type_ids = random.types.data();
  all.mask = random.mask.data();
  all.query_mask = random.query_mask.data();
  all.encoder_states = random.encoder_states.data();
  all.state_count = static_cast<size_t>(states);
  all.state_mask = random.encoder_states_mask.data();
  const auto run = [&](const lnf_input& input) {
    std::vector<float> values(static_cast<size_t>(count) * shape.d_model);
    lnf_output output;
    lnf_output_init(&output, LNF_HIDDEN);
    output.data = values.data();
    output.capacity = values.size();
    CHECK_MESSAGE(lnf_run(session, &input, 1, &output, 1, nullptr, &status) == LNF_OK, status.message);
    return values;
  };
  const std::vector<float> given = run(all);
  SessionOptions own;
  own.run.padding = Padding::keep;
  own.cpu.block_rows = 32;
  Session other = std::move(*Session::create(loaded, own));
  std::vector<float> expected(given.size());
  const Input view = random.view();
  CHECK(other.run({&view, 1}, Output::hidden(expected)).ok());
  CHECK(given == expected);
  // Each field changes the result.
  for (const uint8_t* lnf_input::*field :
       {&lnf_input::type_ids, &lnf_input::mask, &lnf_input::query_mask, &lnf_input::state_mask}) {
    lnf_input fewer = all;
    fewer.*field = nullptr;
    CHECK(run(fewer) != given);
  }
  lnf_session_free(session);
  lnf_model_free(model);
}

TEST_CASE("a model that reads vectors gives the same hidden states as in C++") {
  RandomModel shape;
  shape.vector_width = 24;
  shape.token_types = 0;
  constexpr int64_t count = 7;
  const writer::AlignedBytes bytes = random_builder(shape).serialize();
  lnf_model* model = nullptr;
  lnf_session* session = nullptr;
  lnf_classifier* classifier = nullptr;
  lnf_embedder* embedder = nullptr;
  lnf_status status{};
  REQUIRE(lnf_model_load_memory(bytes.data(), bytes.size(), nullptr, nullptr, nullptr, &model, &status) == LNF_OK);
  CHECK(lnf_classifier_create(model, nullptr, 0, nullptr, &classifier, &status) == LNF_UNSUPPORTED);
  CHECK(lnf_embedder_create(model, LNF_POOL_DEFAULT, -1, nullptr, &embedder, &status) == LNF_UNSUPPORTED);
  REQUIRE(lnf_session_create(model, nullptr, &session, &status) == LNF_OK);
  const auto loaded = random_model(shape);
  const RandomInput random = random_input(5, loaded->description().encoder, count, 0, false);
  lnf_input input;
  lnf_input_init(&input);
  input.vectors = random.vectors.data();
  input.count = static_cast<size_t>(count);
  std::vector<float> values(static_cast<size_t>(count) * shape.d_model), expected(values.size());
  lnf_output output;
  lnf_output_init(&output, LNF_HIDDEN);
  output.data = values.data();
  output.capacity = values.size();
  CHECK_MESSAGE(lnf_run(session, &input, 1, &output, 1, nullptr, &status) == LNF_OK, status.message);
  Session other = std::move(*Session::create(loaded, {}));
  const Input view = random.view();
  CHECK(other.run({&view, 1}, Output::hidden(expected)).ok());
  CHECK(values == expected);
  lnf_session_free(session);
  lnf_model_free(model);
}

}  // namespace
}  // namespace linformer_test::inputs_test
