// Tests sessions that use the caller's threads and the caller's arena: they compute the same bits, start no threads and
// write nothing outside the arena.
#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <string>
#include <thread>

#include "base/description.h"
#include "session/thread_count.h"
#include "session/variants.h"
#include "support/outputs.h"

namespace linformer_test::given_test {
namespace {

using namespace linformer;

using Values = std::vector<float>;
using Task = void (*)(void* argument, int index);

struct Calls {
  int count = 0;   // The number of calls of the caller's parallel-for function.
  int wanted = 0;  // The number of indices that each call should have.
  bool all_as_wanted = true;
  void add(int indices) {
    ++count;
    all_as_wanted = all_as_wanted && indices == wanted;
  }
};

void one_by_one(void* context, Task task, void* argument, int count) {
  static_cast<Calls*>(context)->add(count);
  for (int i = 0; i < count; ++i) task(argument, i);
}

void backwards(void* context, Task task, void* argument, int count) {
  static_cast<Calls*>(context)->add(count);
  for (int i = count - 1; i >= 0; --i) task(argument, i);
}

void threaded(void* context, Task task, void* argument, int count) {
  static_cast<Calls*>(context)->add(count);
  std::vector<std::thread> threads;
  for (int i = 0; i < count; ++i) threads.emplace_back([=] { task(argument, i); });
  for (std::thread& thread : threads) thread.join();
}

// Returns whether the process has this number of threads. It waits, because a joined thread may still be listed for a
// moment.
bool has_threads(int64_t wanted) {
  for (int look = 0; look < 500; ++look) {
    if (threads_of_process() == wanted) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

constexpr uint32_t n = 60;

// A model with `count` texts. All threads share the rows of one text; with 24 texts each thread computes whole texts.
struct Work {
  Work(const Variant& variant, size_t count) : model(linformer_test::random_model(variant.shape)) {
    for (size_t t = 0; t < count; ++t) {
      const int64_t length = 1 + static_cast<int64_t>((t + 1) * 37 % (n - 1));
      given.push_back(linformer_test::random_input(t, model->description().encoder, length, length, variant.masks));
    }
    for (const RandomInput& input : given) inputs.push_back(input.view());
    options.memory.max_batch = static_cast<int64_t>(count);
    options.run.padding = variant.masks ? Padding::keep : Padding::strip;
  }
  Session session(const SessionOptions& with) const {
    Result<Session> created = Session::create(model, with);
    REQUIRE_MESSAGE(created.ok(), std::string(created.status().message()));
    return std::move(created.value());
  }
  std::vector<Values> run(Session& session) const {
    const std::vector<MaskPosition> positions = {{0, 0}};
    std::vector<Values> values(5);
    std::vector<Output> outputs;
    linformer_test::add_output(session, inputs, Output::hidden({}), &values[0], &outputs);
    linformer_test::add_output(session, inputs, Output::logits({}), &values[1], &outputs);
    linformer_test::add_output(session, inputs, Output::embeddings({}), &values[2], &outputs);
    linformer_test::add_output(session, inputs, Output::pooled({}, Pooling::max), &values[3], &outputs);
    linformer_test::add_output(session, inputs, Output::masked_lm({}, positions), &values[4], &outputs);
    const Status status = session.run(inputs, outputs);
    REQUIRE_MESSAGE(status.ok(), std::string(status.message()));
    return values;
  }

  std::shared_ptr<const Model> model;
  std::vector<RandomInput> given;
  std::vector<Input> inputs;
  SessionOptions options;
};

bool same(const std::vector<Values>& a, const std::vector<Values>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Values& x, const Values& y) {
    return x.size() == y.size() && (x.empty() || std::memcmp(x.data(), y.data(), x.size() * sizeof(float)) == 0);
  });
}

TEST_CASE("for every kind of model the caller's threads give the session's bits, and no thread is started") {
  const int64_t before = threads_of_process();
  for (const Variant& variant : linformer_test::sampled_variants(0, n)) {
    CAPTURE(variant.name);
    for (const size_t texts : {1, 24}) {
      CAPTURE(texts);
      const Work work(variant, texts);
      std::vector<Values> expected;
      {
        SessionOptions options = work.options;
        options.cpu.threads = 3;
        Session own = work.session(options);
        CHECK(has_threads(before + 2));  // Shows that has_threads() sees a session's threads.
        expected = work.run(own);
      }
      for (const auto parallel : {&one_by_one, &backwards, &threaded}) {
        for (const int threads : {1, 3}) {
          CAPTURE(threads);
          Calls calls;
          calls.wanted = threads;
          SessionOptions options = work.options;
          options.cpu.threads = threads;
          options.cpu.parallel = parallel;
          options.cpu.parallel_context = &calls;
          Session session = work.session(options);
          for (int call = 0; call < 2; ++call) CHECK(same(work.run(session), expected));
          CHECK(has_threads(before));
          CHECK(calls.all_as_wanted);
          CHECK((calls.count > 0) == (threads > 1));
        }
      }
    }
  }
}

// Memory of the caller at a multiple of 64 plus `shift` bytes. It is filled with NaN and lies between guard gaps.
class Arena {
 public:
  Arena(uint64_t bytes, size_t shift) : memory_(bytes + shift + 2 * guard + 64, std::byte{0xff}) {
    const uintptr_t address = reinterpret_cast<uintptr_t>(memory_.data()) + guard;
    first_ = guard + (64 - address % 64) % 64 + shift;
    span_ = std::span(memory_).subspan(first_, bytes);
  }
  std::span<std::byte> span() const { return span_; }
  bool guards_are_untouched() const {
    const auto is_guard = [](std::byte value) { return value == std::byte{0xff}; };
    const auto begin = memory_.begin() + static_cast<std::ptrdiff_t>(first_);
    return std::all_of(memory_.begin(), begin, is_guard) &&
           std::all_of(begin + static_cast<std::ptrdiff_t>(span_.size()), memory_.end(), is_guard);
  }

 private:
  static constexpr size_t guard = 4096;
  std::vector<std::byte> memory_;
  size_t first_ = 0;
  std::span<std::byte> span_;
};

TEST_CASE("for every kind of model a caller's arena full of NaN gives the same bits and is not exceeded") {
  for (const Variant& variant : linformer_test::sampled_variants(1, n)) {
    CAPTURE(variant.name);
    for (const int threads : {1, 2}) {
      CAPTURE(threads);
      const Work work(variant, 24);
      SessionOptions options = work.options;
      options.cpu.threads = threads;
      Session own = work.session(options);
      const std::vector<Values> expected = work.run(own);
      const Arena arena(own.plan().total_bytes, 0);
      options.memory.arena = arena.span();
      {
        Session session = work.session(options);
        CHECK(session.plan().total_bytes == own.plan().total_bytes);
        CHECK(session.used_bytes() == session.plan().total_bytes);
        for (int call = 0; call < 2; ++call) CHECK(same(work.run(session), expected));
      }
      CHECK(arena.guards_are_untouched());
      CHECK(arena.span().front() != std::byte{0xff});  // The session used the arena and didn't free it.
      Session second = work.session(options);
      CHECK(same(work.run(second), expected));
    }
  }
}

TEST_CASE("an arena that is too small or at another address is refused") {
  const auto model = linformer_test::random_model(RandomModel());
  const uint64_t bytes = std::move(Session::create(model, {}).value()).plan().total_bytes;
  const auto refusal = [&](std::span<std::byte> arena) {
    SessionOptions options;
    options.memory.arena = arena;
    const Status status = Session::create(model, options).status();
    CHECK(status.code() == Code::invalid_argument);
    return std::string(status.message());
  };
  const std::string needed = ": this session needs " + std::to_string(bytes) + ", aligned to 64";
  const Arena exact(bytes, 0), moved(bytes, 4);
  CHECK(refusal(exact.span().first(bytes - 1)) ==
        "the arena given has " + std::to_string(bytes - 1) + " bytes" + needed);
  CHECK(refusal(moved.span()) ==
        "the arena given has " + std::to_string(bytes) + " bytes that aren't aligned" + needed);
  const auto untouched = [](std::byte value) { return value == std::byte{0xff}; };
  CHECK(std::all_of(exact.span().begin(), exact.span().end(), untouched));
  SessionOptions options;
  const Arena larger(bytes + 100, 0);
  options.memory.arena = larger.span();
  CHECK(Session::create(model, options).ok());
  const std::span<std::byte> rest = larger.span().subspan(bytes);
  CHECK(std::all_of(rest.begin(), rest.end(), untouched));
}

}  // namespace

}  // namespace linformer_test::given_test
