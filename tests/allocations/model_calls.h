// Prepares calls of a session before allocations are counted, and counts the allocations while the calls run.
#pragma once

#include <doctest/doctest.h>

#include <memory>
#include <random>
#include <string>
#include <vector>

#include "base/description.h"
#include "support/allocations.h"
#include "support/engines.h"
#include "support/outputs.h"
#include "support/random_model.h"

namespace linformer_test {

// The memory and the allocations of one session.
struct SessionCost {
  // In bytes. `used_first` is measured after the first call, and `used` after all calls.
  uint64_t planned = 0, used_first = 0, used = 0;
  int64_t allocations = 0;  // 0 if this build can't count allocations.
};

// Calls of one model with random inputs. The first call has the largest number of rows that the session was planned
// for.
class ModelCalls {
 public:
  static constexpr int calls = 20;
  static constexpr int64_t max_batch = 3;

  ModelCalls(std::shared_ptr<const linformer::Model> model, bool masks) : model_(std::move(model)), masks_(masks) {
    const linformer::EncoderDescription& encoder = model_->description().encoder;
    std::mt19937 generator(7);
    const int64_t n = encoder.max_tokens, longest = n - (encoder.embedding.prefix != linformer::absent ? 1 : 0);
    for (int call = 0; call < calls; ++call) {
      const int64_t texts = call == 0 ? max_batch : 1 + static_cast<int64_t>(generator() % max_batch);
      std::vector<RandomInput>& batch = inputs_.emplace_back();
      std::vector<linformer::Input>& views = views_.emplace_back();
      for (int64_t t = 0; t < texts; ++t) {
        const int64_t length = call == 0 ? longest : 1 + static_cast<int64_t>(generator() % longest);
        const int64_t states = call == 0 ? n : 1 + static_cast<int64_t>(generator() % n);
        batch.push_back(random_input(generator(), encoder, length, states, masks));
      }
      for (const RandomInput& input : batch) views.push_back(input.view());
    }
  }

  // Runs all calls in one session, with every output that the model has, and returns the session's cost.
  SessionCost run(const Engine& engine, int threads) {
    using namespace linformer;
    SessionOptions options;
    options.memory.max_batch = max_batch;
    options.cpu.threads = threads;
    options.cpu.backend = engine.backend;
    options.cpu.isa = engine.isa;
    options.run.compute = bf16_compute(engine);
    options.run.padding = masks_ ? Padding::keep : Padding::strip;
    const Result<Plan> planned = plan(*model_, options);
    REQUIRE_MESSAGE(planned.ok(), std::string(planned.status().message()));
    Result<Session> session = Session::create(model_, options);
    REQUIRE_MESSAGE(session.ok(), std::string(session.status().message()));
    CHECK(planned->total_bytes == session->plan().total_bytes);
    prepare_outputs(*session);
    const int counted_calls = counting_works() ? calls : 3;
    int failed = 0;
    start_counting();
    failed += session->run(views_[0], outputs_).ok() ? 0 : 1;
    const uint64_t used_first = session->used_bytes();
    for (size_t call = 1; call < static_cast<size_t>(counted_calls); ++call) {
      failed += session->run(views_[call], outputs_).ok() ? 0 : 1;
    }
    const Allocations counted = stop_counting();
    CHECK(failed == 0);
    return {planned->total_bytes, used_first, session->used_bytes(), counting_works() ? counted.calls : 0};
  }

 private:
  void prepare_outputs(const linformer::Session& session) {
    using namespace linformer;
    outputs_.clear();
    std::vector<Output> asked = {Output::embeddings({}), Output::masked_lm({}, positions_)};
    for (int head = 0; head < model_->info().heads; ++head) asked.push_back(Output::probabilities({}, head));
    for (int layer = -1; layer <= 2; ++layer) asked.push_back(Output::hidden({}, layer));
    for (int pooling = 0; pooling < 4; ++pooling) asked.push_back(Output::pooled({}, static_cast<Pooling>(pooling)));
    values_.resize(asked.size());
    for (size_t i = 0; i < asked.size(); ++i) add_output(session, views_[0], asked[i], &values_[i], &outputs_);
  }

  std::shared_ptr<const linformer::Model> model_;
  bool masks_;
  std::vector<std::vector<RandomInput>> inputs_;
  std::vector<std::vector<linformer::Input>> views_;
  std::vector<linformer::MaskPosition> positions_ = {{0, 0}};
  std::vector<std::vector<float>> values_;
  std::vector<linformer::Output> outputs_;  // Large enough for the first call, which is the largest.
};

}  // namespace linformer_test
