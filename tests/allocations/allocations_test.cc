// Tests that a session of the native backend allocates nothing between its creation and its destruction, and that each
// session uses exactly the memory that plan() reports.
#include "support/allocations.h"

#include <doctest/doctest.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "base/description.h"
#include "support/engines.h"
#include "support/random_model.h"
#include "support/skip.h"

namespace linformer_test::allocations_test {
namespace {

using namespace linformer;

constexpr int calls = 1000;
constexpr int64_t max_tokens = 96, max_batch = 3;

RandomModel shape() {
  RandomModel shape;
  shape.n = max_tokens;
  shape.k = 16;
  shape.d_model = 32;
  shape.ffn = 64;
  shape.vocabulary = 90;
  return shape;
}

// The inputs and outputs of `calls` calls of different sizes. They are allocated before allocations are counted. The
// first call is the largest.
struct Calls {
  explicit Calls(const Model& model, bool pads) {
    std::mt19937 generator(7);
    const EncoderDescription& e = model.description().encoder;
    ids = random_ids(3, max_tokens * max_batch, e.vocab_size);
    if (pads) {
      for (size_t i = 5; i < ids.size(); i += 11) {
        if (i % max_tokens != 0) ids[i] = e.pad_id;  // A text of padding only would be an error.
      }
    }
    texts.resize(static_cast<size_t>(calls));
    for (int call = 0; call < calls; ++call) {
      const int64_t count = call == 0 ? max_batch : 1 + static_cast<int64_t>(generator() % max_batch);
      for (int64_t t = 0; t < count; ++t) {
        const int64_t length = call == 0 ? max_tokens : 1 + static_cast<int64_t>(generator() % max_tokens);
        texts[static_cast<size_t>(call)].push_back(
            Tokens(ids).subspan(static_cast<size_t>(t * max_tokens), static_cast<size_t>(length)));
      }
    }
    hidden.resize(static_cast<size_t>(max_tokens * max_batch * e.d_model));
    pooled.resize(static_cast<size_t>(max_batch * e.d_model));
    logits.resize(static_cast<size_t>(max_batch) * model.description().heads[0].labels.size());
    probabilities = logits;
    positions = {{0, 0}};
    mlm.resize(e.vocab_size);
  }

  Status run(Session& session, int call, const RunControl& control = {}) {
    const std::vector<Tokens>& batch = texts[static_cast<size_t>(call)];
    return session.run(batch,
                       {Output::hidden(hidden, call % 4 - 1), Output::pooled(pooled), Output::logits(logits),
                        Output::probabilities(probabilities), Output::masked_lm(mlm, positions)},
                       control);
  }

  std::vector<int32_t> ids;
  std::vector<std::vector<Tokens>> texts;
  std::vector<float> hidden, pooled, logits, probabilities, mlm;
  std::vector<MaskPosition> positions;
};

TEST_CASE("allocations by malloc, new, aligned_alloc and mmap are counted") {
  if (!counting_works()) {
    linformer_test::skip("the allocator can't be replaced under a sanitizer");
    return;
  }
  start_counting();
  void* volatile a = std::malloc(10);
  int* volatile b = new int(1);
  void* volatile c = std::aligned_alloc(64, 128);
  void* volatile d = mmap(nullptr, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  const Allocations counted = stop_counting();
  std::free(a);
  delete b;
  std::free(c);
  munmap(d, 4096);
  CHECK(counted.calls == 4);
  CHECK(counted.bytes == 10 + static_cast<int64_t>(sizeof(int)) + 128 + 4096);
}

TEST_CASE("a session allocates nothing in its calls") {
  if (!counting_works()) {
    linformer_test::skip("the allocator can't be replaced under a sanitizer");
    return;
  }
  const std::shared_ptr<const Model> model = random_model(shape());
  Calls work(*model, true);
  std::printf("allocations in %d calls of 1 to %d texts of 1 to %d tokens, every output asked for\n", calls,
              static_cast<int>(max_batch), static_cast<int>(max_tokens));
  for (const Engine& engine : engines()) {
    const bool native = engine.backend == BackendKind::native;
    if (!native && engine.isa != Isa::scalar) continue;  // Other backends choose the instruction set themselves.
    for (const int threads : {1, 2}) {
      for (const Padding padding : {Padding::strip, Padding::keep}) {
        SessionOptions options;
        options.memory.max_batch = max_batch;
        options.cpu.threads = threads;
        options.cpu.backend = engine.backend;
        options.cpu.isa = engine.isa;
        options.run.padding = padding;
        Allocations counted;
        int failed = 0;
        {
          Result<Session> session = Session::create(model, options);
          REQUIRE_MESSAGE(session.ok(), session.status().message());
          start_counting();
          for (int call = 0; call < calls; ++call) failed += work.run(*session, call).ok() ? 0 : 1;
          counted = stop_counting();
        }
        std::printf("%-8s %-6s threads %d padding %-5s  allocations %6lld  bytes %9lld\n", name_of(engine.backend),
                    name_of(engine.isa), threads, padding == Padding::keep ? "keep" : "strip",
                    static_cast<long long>(counted.calls), static_cast<long long>(counted.bytes));
        CHECK(failed == 0);
        if (native) CHECK(counted.calls == 0);
      }
    }
  }
}

TEST_CASE("a session with the caller's arena and threads allocates nothing, and reports progress") {
  if (!counting_works()) {
    linformer_test::skip("the allocator can't be replaced under a sanitizer");
    return;
  }
  const std::shared_ptr<const Model> model = random_model(shape());
  Calls work(*model, true);
  SessionOptions options;
  options.memory.max_batch = max_batch;
  options.cpu.threads = 2;
  std::vector<std::byte> memory(plan(*model, options)->total_bytes + 64);
  options.memory.arena = std::span(memory).subspan(64 - reinterpret_cast<uintptr_t>(memory.data()) % 64);
  options.cpu.parallel = [](void*, void (*task)(void*, int), void* argument, int count) {
    for (int i = 0; i < count; ++i) task(argument, i);
  };
  Result<Session> session = Session::create(model, options);
  REQUIRE_MESSAGE(session.ok(), session.status().message());
  std::atomic<bool> cancel = false;
  int reports = 0, failed = 0;
  const auto progress = [](void* context, double) { ++*static_cast<int*>(context); };
  start_counting();
  for (int call = 0; call < calls; ++call) {
    failed += work.run(*session, call, {&cancel, progress, &reports}).ok() ? 0 : 1;
  }
  const Allocations counted = stop_counting();
  CHECK(failed == 0);
  CHECK(reports > calls);
  CHECK(counted.calls == 0);
}

TEST_CASE("a session uses exactly the planned bytes") {
  const std::shared_ptr<const Model> model = random_model(shape());
  Calls work(*model, false);
  for (const Engine& engine : engines()) {
    for (const int threads : {1, 2, 3}) {
      SessionOptions options;
      options.memory.max_batch = max_batch;
      options.cpu.threads = threads;
      options.cpu.backend = engine.backend;
      options.cpu.isa = engine.isa;
      options.run.compute = linformer_test::bf16_compute(engine);
      Result<Session> session = Session::create(model, options);
      REQUIRE_MESSAGE(session.ok(), session.status().message());
      const Plan& plan = session->plan();
      CAPTURE(name_of(engine.backend));
      CAPTURE(threads);
      // Before the first call, only the tables of the projections have been written. Used memory is counted in pages.
      uint64_t tables = 0;
      for (const PlannedBuffer& buffer : std::span(plan.buffers, static_cast<size_t>(plan.buffer_count))) {
        if (std::string(buffer.name) == "projection table" && buffer.bytes > 0) tables = buffer.offset + buffer.bytes;
      }
      CHECK((tables > 0) == (engine.backend == BackendKind::native));
      CHECK(session->used_bytes() == (tables + 4095) / 4096 * 4096);
      REQUIRE(work.run(*session, 0).ok());
      CHECK(session->used_bytes() == plan.total_bytes);

      // The buffers fill the arena without overlaps and without gaps.
      std::vector<PlannedBuffer> buffers(plan.buffers, plan.buffers + plan.buffer_count);
      std::sort(buffers.begin(), buffers.end(), [](const PlannedBuffer& a, const PlannedBuffer& b) {
        // A buffer that this model doesn't need is empty and has the offset of the next buffer.
        return a.offset != b.offset ? a.offset < b.offset : a.bytes < b.bytes;
      });
      uint64_t end = 0;
      for (const PlannedBuffer& buffer : buffers) {
        CAPTURE(buffer.name);
        CHECK(buffer.offset % 64 == 0);
        CHECK(buffer.offset >= end);
        CHECK(buffer.offset < end + 64);
        end = buffer.offset + buffer.bytes;
      }
      CHECK(plan.total_bytes >= end);
      CHECK(plan.total_bytes < end + 64);
    }
  }
}

}  // namespace
}  // namespace linformer_test::allocations_test
