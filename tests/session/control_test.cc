// Tests RunControl: calls that are cancelled before they begin or while they run, and calls that report progress.
#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <string>
#include <thread>

#include "support/outputs.h"
#include "support/random_model.h"

namespace linformer_test::control_test {
namespace {

using namespace linformer;

using Values = std::vector<float>;

// A model and the texts of a call. The threads share the rows of one text block by block, and with many texts each
// thread computes whole sequences.
struct Work {
  explicit Work(size_t count) {
    RandomModel shape;
    shape.n = 200;
    shape.layers = 4;
    model = linformer_test::random_model(shape);
    for (size_t t = 0; t < count; ++t) {
      ids.push_back(linformer_test::random_ids(t, static_cast<int64_t>(200 - t * 7 % 120), shape.vocabulary));
      if (t % 2 == 0) positions.push_back({static_cast<int64_t>(t), 3});
    }
    texts.assign(ids.begin(), ids.end());
  }
  Session session(int threads, const SessionOptions& given = {}) const {
    SessionOptions options = given;
    options.memory.max_batch = static_cast<int64_t>(texts.size());
    options.cpu.threads = threads;
    Result<Session> created = Session::create(model, options);
    REQUIRE_MESSAGE(created.ok(), std::string(created.status().message()));
    return std::move(created.value());
  }
  // Runs the texts. `values` gets hidden states, probabilities and masked-LM logits, one after another.
  Status run(Session& session, const RunControl& control, Values* values) const {
    const Output asked[] = {Output::hidden({}, 0), Output::hidden({}), Output::probabilities({}),
                            Output::masked_lm({}, positions)};
    std::vector<Output> outputs;
    size_t floats = 0;
    for (const Output& output : asked) floats += static_cast<size_t>(session.shape(output, texts)->floats());
    values->assign(floats, 42.f);
    std::span<float> rest = *values;
    for (Output output : asked) {
      const size_t own = static_cast<size_t>(session.shape(output, texts)->floats());
      output.values = rest.first(own);
      rest = rest.subspan(own);
      outputs.push_back(output);
    }
    return session.run(texts, outputs, control);
  }
  // Returns whether each thread takes whole sequences. The system's scheduling then decides how many sequences the
  // calling thread computes, which may be none.
  bool is_shared_by_chance(int threads) const { return threads > 1 && texts.size() > 1; }
  Values right_answers() const {
    Session plain = session(1);
    Values values;
    REQUIRE(run(plain, {}, &values).ok());
    return values;
  }

  std::shared_ptr<const Model> model;
  std::vector<std::vector<int32_t>> ids;
  std::vector<Tokens> texts;
  std::vector<MaskPosition> positions;
};

// Runs `test` with each number of threads and both ways of sharing the work.
template <class Test>
void for_all(Test&& test) {
  for (const size_t texts : {1, 30}) {
    const Work work(texts);
    const Values right = work.right_answers();
    for (const int threads : {1, 2}) {
      CAPTURE(texts);
      CAPTURE(threads);
      test(work, right, threads);
    }
  }
}

struct Shares {
  std::vector<double> seen;
  std::thread::id thread = std::this_thread::get_id();
  bool elsewhere = false;
  static void add(void* context, double share) {
    Shares& shares = *static_cast<Shares*>(context);
    shares.seen.push_back(share);
    shares.elsewhere = shares.elsewhere || std::this_thread::get_id() != shares.thread;
  }
  bool are_in_order() const {
    return !elsewhere && !seen.empty() && seen.front() > 0 && seen.back() == 1 &&
           std::adjacent_find(seen.begin(), seen.end(), [](double a, double b) { return a >= b; }) == seen.end();
  }
};

// Returns whether one of `calls` calls is cancelled, and checks that all calls before it succeed. A call isn't
// cancelled if other threads have taken all the work before the calling thread reports progress.
template <class Call>
bool is_cancelled_within(int calls, Call&& call) {
  for (int i = 0; i < calls; ++i) {
    const Status status = call();
    if (status.code() == Code::cancelled) return true;
    CHECK(status.ok());
  }
  return false;
}

TEST_CASE("a call that is cancelled before it begins computes nothing") {
  for_all([](const Work& work, const Values& right, int threads) {
    Session session = work.session(threads);
    std::atomic<bool> cancel = true;
    Shares shares;
    const RunControl control{&cancel, &Shares::add, &shares};
    Values values;
    const Status status = work.run(session, control, &values);
    CHECK(status.code() == Code::cancelled);
    CHECK(std::string(status.message()) == "the call was cancelled");
    CHECK(shares.seen.empty());
    CHECK(std::all_of(values.begin(), values.end(), [](float value) { return value == 42.f; }));
    cancel = false;
    CHECK(work.run(session, control, &values).ok());
    CHECK(values == right);
  });
}

TEST_CASE("the progress callback can cancel the call at any time except the last") {
  for_all([](const Work& work, const Values& right, int threads) {
    Session session = work.session(threads);
    Shares all;
    Values values;
    REQUIRE(work.run(session, {nullptr, &Shares::add, &all}, &values).ok());
    struct Stop {
      std::atomic<bool> cancel = false;
      size_t after = 0, calls = 0;
    };
    for (const size_t after : {size_t{1}, all.seen.size() / 2, all.seen.size() - 1}) {
      if (work.is_shared_by_chance(threads) && after > 1) continue;
      CAPTURE(after);
      CHECK(is_cancelled_within(work.is_shared_by_chance(threads) ? 100 : 1, [&] {
        Stop stop;
        stop.after = after;
        const auto progress = [](void* context, double) {
          Stop& s = *static_cast<Stop*>(context);
          s.cancel = ++s.calls >= s.after;
        };
        const Status status = work.run(session, {&stop.cancel, progress, &stop}, &values);
        CHECK(stop.calls == after);  // The callback isn't called again.
        return status;
      }));
      REQUIRE(work.run(session, {}, &values).ok());
      CHECK(values == right);
    }
  });
}

TEST_CASE("another thread can cancel a call while it runs") {
  for_all([](const Work& work, const Values& right, int threads) {
    Session session = work.session(threads);
    struct Stop {
      std::atomic<bool> cancel = false, begun = false;
    };
    Values values;
    CHECK(is_cancelled_within(work.is_shared_by_chance(threads) ? 100 : 1, [&] {
      Stop stop;
      std::thread other([&] {
        stop.begun.wait(false);
        stop.cancel = true;
        stop.cancel.notify_all();
      });
      // The call waits until the other thread has cancelled it.
      const auto progress = [](void* context, double) {
        Stop& s = *static_cast<Stop*>(context);
        s.begun = true;
        s.begun.notify_all();
        s.cancel.wait(false);
      };
      const Status status = work.run(session, {&stop.cancel, progress, &stop}, &values);
      other.join();
      return status;
    }));
    REQUIRE(work.run(session, {}, &values).ok());
    CHECK(values == right);
  });
}

TEST_CASE("progress grows, ends at 1 and is reported on the calling thread") {
  for_all([](const Work& work, const Values& right, int threads) {
    Session session = work.session(threads);
    for (int call = 0; call < 3; ++call) {
      Shares shares;
      Values values;
      REQUIRE(work.run(session, {nullptr, &Shares::add, &shares}, &values).ok());
      CHECK(values == right);
      CHECK(shares.are_in_order());
      if (!work.is_shared_by_chance(threads)) CHECK(shares.seen.size() > 4);  // After each layer and at the end.
    }
  });
}

TEST_CASE("progress is reported on the calling thread if the caller's threads do the work") {
  for_all([](const Work& work, const Values& right, int threads) {
    SessionOptions options;
    options.cpu.parallel = [](void*, void (*task)(void*, int), void* argument, int count) {
      std::vector<std::thread> all;
      for (int i = 0; i < count; ++i) all.emplace_back([=] { task(argument, i); });
      for (std::thread& thread : all) thread.join();
    };
    Session session = work.session(threads, options);
    Shares shares;
    Values values;
    REQUIRE(work.run(session, {nullptr, &Shares::add, &shares}, &values).ok());
    CHECK(values == right);
    CHECK(!shares.elsewhere);
    CHECK(shares.seen.back() == 1);
  });
}

TEST_CASE("a refused call reports no progress") {
  const Work work(1);
  Session session = work.session(1);
  Values pooled(31);
  Shares shares;
  CHECK(!session.run(work.texts, Output::pooled(pooled), {nullptr, &Shares::add, &shares}).ok());
  CHECK(shares.seen.empty());
}

}  // namespace

}  // namespace linformer_test::control_test
