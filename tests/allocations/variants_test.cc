// Every kind of attention and layer: nothing is allocated while a session runs, and the arena is what was planned.
#include "session/variants.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdio>
#include <random>

#include "base/description.h"
#include "support/allocations.h"
#include "support/engines.h"
#include "support/outputs.h"
#include "support/skip.h"

namespace linformer_test {
namespace {

using namespace linformer;

constexpr int calls = 20;
constexpr int64_t max_batch = 3;
// Two blocks of rows; with full attention two blocks of keys too.
constexpr uint32_t most_tokens = 150, most_tokens_full = 530;

// Calls made before anything is counted. The first is the largest: no rows are left of what was planned for.
class VariantCalls {
 public:
  explicit VariantCalls(const Variant& variant) : model(random_model(variant.shape)) {
    const EncoderDescription& encoder = model->description().encoder;
    std::mt19937 generator(7);
    const int64_t n = variant.shape.n, longest = n - (encoder.embedding.prefix != absent ? 1 : 0);
    for (int call = 0; call < calls; ++call) {
      const int64_t texts = call == 0 ? max_batch : 1 + static_cast<int64_t>(generator() % max_batch);
      std::vector<RandomInput>& batch = inputs_.emplace_back();
      std::vector<Input>& views = views_.emplace_back();
      for (int64_t t = 0; t < texts; ++t) {
        const int64_t length = call == 0 ? longest : 1 + static_cast<int64_t>(generator() % longest);
        const int64_t states = call == 0 ? n : 1 + static_cast<int64_t>(generator() % n);
        batch.push_back(random_input(generator(), encoder, length, states, variant.masks));
      }
      for (const RandomInput& input : batch) views.push_back(input.view());
    }
  }

  void prepare(const Session& session) {
    outputs_.clear();
    std::vector<Output> asked = {Output::probabilities({}), Output::embeddings({})};
    for (int layer = -1; layer <= 2; ++layer) asked.push_back(Output::hidden({}, layer));
    for (int pooling = 0; pooling < 4; ++pooling) asked.push_back(Output::pooled({}, static_cast<Pooling>(pooling)));
    values_.resize(asked.size());
    for (size_t i = 0; i < asked.size(); ++i) add_output(session, views_[0], asked[i], &values_[i], &outputs_);
  }

  bool run(Session& session, int call) {
    const std::vector<Input>& batch = views_[static_cast<size_t>(call)];
    return session.run(batch, outputs_).ok();
  }

  std::shared_ptr<const Model> model;

 private:
  std::vector<std::vector<RandomInput>> inputs_;
  std::vector<std::vector<Input>> views_;
  std::vector<std::vector<float>> values_;
  std::vector<Output> outputs_;  // as large as the first call's, the largest
};

TEST_CASE("no kind of model makes a session allocate, and each uses the bytes that were planned") {
  const int counted_calls = counting_works() ? calls : 3;
  std::vector<Variant> all;
  for (const ElementType type : {ElementType::f32, ElementType::bf16, ElementType::int8}) {
    for (Variant variant : variants(most_tokens, most_tokens_full)) {
      variant.shape.type = type;
      all.push_back(variant);
    }
  }
  for (const Variant& variant : all) {
    VariantCalls work(variant);
    CAPTURE(variant.name);
    CAPTURE(std::string(name_of(variant.shape.type)));
    for (const Engine& engine : engines()) {
      if (engine.backend != BackendKind::native) continue;
      if (variant.shape.type != ElementType::f32 && engine.isa != best_isa()) continue;
      for (const int threads : {1, 2}) {
        SessionOptions options;
        options.memory.max_batch = max_batch;
        options.cpu.threads = threads;
        options.cpu.backend = engine.backend;
        options.cpu.isa = engine.isa;
        options.run.compute = linformer_test::with_bf16(engine);
        options.run.padding = variant.masks ? Padding::keep : Padding::strip;
        Result<Session> session = Session::create(work.model, options);
        REQUIRE_MESSAGE(session.ok(), std::string(session.status().message()));
        work.prepare(*session);
        int failed = 0;
        start_counting();
        failed += work.run(*session, 0) ? 0 : 1;
        const uint64_t used = session->used_bytes();
        for (int call = 1; call < counted_calls; ++call) failed += work.run(*session, call) ? 0 : 1;
        const Allocations counted = stop_counting();
        CHECK(failed == 0);
        CHECK(used == session->plan().total_bytes);
        CHECK(session->used_bytes() == used);
        if (counting_works()) CHECK(counted.calls == 0);
      }
    }
  }
  if (!counting_works()) linformer_test::skip("the allocator can't be replaced under a sanitizer");
}

}  // namespace
}  // namespace linformer_test
