// Tests waits and the team of threads. The test base_waits compiles this file a second time, with the waits for systems
// without futexes.
#include "base/threads.h"

#include <doctest/doctest.h>

#include <chrono>
#include <thread>

namespace linformer_test::threads_test {
namespace {

using namespace linformer;

// Two threads that increment a word in turns. A thread sleeps immediately if it isn't its turn, so a lost wake would
// stop both.
struct Turns {
  static constexpr uint32_t rounds = 20'000;
  std::atomic<uint32_t> word{0};
  std::atomic<uint32_t> sleepers{0};

  void play(uint32_t mine) {
    for (uint32_t turn = mine; turn < rounds; turn += 2) {
      for (uint32_t now; (now = word.load()) != turn;) {
        sleepers.fetch_add(1);
        platform::wait_while(word, now);
        sleepers.fetch_sub(1);
      }
      word.fetch_add(1);
      if (sleepers.load() != 0) platform::wake_all(word);
    }
  }
};

TEST_CASE("no wake is lost between two threads") {
  Turns turns;
  platform::Thread other;
  REQUIRE(platform::start_thread([](void* context) { static_cast<Turns*>(context)->play(1); }, &turns, &other));
  turns.play(0);
  platform::join_thread(&other);
  CHECK(turns.word.load() == Turns::rounds);
}

TEST_CASE("a wait returns at once if the word has already changed") {
  std::atomic<uint32_t> word{1};
  platform::wait_while(word, 0);
  platform::wake_all(word);
  CHECK(word.load() == 1);
}

TEST_CASE("one wake ends all waits") {
  constexpr uint32_t threads = 5;
  struct Shared {
    std::atomic<uint32_t> word{0}, came{0}, left{0};
  } shared;
  platform::Thread waiting[threads];
  for (platform::Thread& thread : waiting) {
    REQUIRE(platform::start_thread(
        [](void* context) {
          Shared& s = *static_cast<Shared*>(context);
          s.came.fetch_add(1);
          while (s.word.load() == 0) platform::wait_while(s.word, 0);
          s.left.fetch_add(1);
        },
        &shared, &thread));
  }
  while (shared.came.load() != threads) std::this_thread::yield();
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  CHECK(shared.left.load() == 0);
  shared.word.store(1);
  platform::wake_all(shared.word);
  for (platform::Thread& thread : waiting) platform::join_thread(&thread);
  CHECK(shared.left.load() == threads);
}

TEST_CASE("threads that sleep between calls take part in the next call") {
  constexpr int threads = 4, calls = 100;
  ThreadTeam team;
  REQUIRE(team.start(threads).ok());
  int complete = 0;
  for (int call = 0; call < calls; ++call) {
    std::this_thread::sleep_for(std::chrono::milliseconds(call % 4 == 0 ? 3 : 0));
    std::atomic<int> came{0};
    team.run([&](int thread) {
      came.fetch_add(1);
      if (thread != 0) return;
      const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
      while (came.load() != threads && std::chrono::steady_clock::now() < end) std::this_thread::yield();
      if (came.load() == threads) ++complete;
    });
    if (complete != call + 1) break;
  }
  CHECK(complete == calls);
}

TEST_CASE("a caller that sleeps until the last thread is done is woken") {
  constexpr int threads = 3;
  ThreadTeam team;
  REQUIRE(team.start(threads).ok());
  std::atomic<int> left{0};
  for (int call = 1; call <= 20; ++call) {
    std::atomic<int> came{0};
    team.run([&](int thread) {
      came.fetch_add(1);
      while (came.load() != threads) std::this_thread::yield();
      if (thread == 0) return;
      std::this_thread::sleep_for(std::chrono::milliseconds(3));
      left.fetch_add(1);
    });
    REQUIRE(left.load() == call * (threads - 1));
  }
}

TEST_CASE("each task of each call is done once before the call returns") {
  constexpr int64_t tasks = 7;
  ThreadTeam team;
  REQUIRE(team.start(3).ok());
  int64_t done[tasks] = {};
  constexpr int calls = 20'000;
  TaskCounter counter;
  REQUIRE(counter.try_reserve(3));
  for (int call = 0; call < calls; ++call) {
    counter.reset(tasks, 3);
    team.run([&](int thread) {
      for (int64_t task; counter.next(thread, &task);) ++done[task];
    });
  }
  for (const int64_t times : done) CHECK(times == calls);
}

TEST_CASE("a thread takes its own tasks first, the same in each call, and then the others'") {
  constexpr int64_t tasks = 7;
  constexpr int threads = 3;
  int64_t own[threads] = {};
  TaskCounter counter;
  REQUIRE(counter.try_reserve(threads));
  for (int call = 0; call < 2; ++call) {
    counter.reset(tasks, threads);
    for (int thread = 0; thread < threads; ++thread) {
      int64_t task = -1;
      REQUIRE(counter.next(thread, &task));
      if (call == 0) own[thread] = task;
      CHECK(own[thread] == task);
    }
    // One thread takes the remaining tasks, each once.
    int64_t left = 0, sum = own[0] + own[1] + own[2];
    for (int64_t task; counter.next(1, &task); ++left) {
      sum += task;
      if (left == 0) CHECK(task == own[1] + 1);
    }
    CHECK(left == tasks - threads);
    CHECK(sum == tasks * (tasks - 1) / 2);
    for (int thread = 0; thread < threads; ++thread) {
      int64_t none = 0;
      CHECK(!counter.next(thread, &none));
    }
  }
  int64_t task = 0;
  counter.reset(0, threads);
  CHECK(!counter.next(2, &task));
  // If there are fewer tasks than threads, the first threads own one task each.
  counter.reset(2, threads);
  CHECK((counter.next(1, &task) && task == 1));
  CHECK((counter.next(0, &task) && task == 0));
  CHECK(!counter.next(2, &task));
}

TEST_CASE("teams can be started and ended, whether their threads sleep or not") {
  for (int i = 0; i < 200; ++i) {
    ThreadTeam team;
    REQUIRE(team.start(1 + i % 4).ok());
    if (i % 3 == 0) team.run([](int) {});
    if (i % 50 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  ThreadTeam team;
  CHECK(team.start(0).code() == Code::invalid_argument);
  CHECK(team.start(ThreadTeam::max_threads + 1).code() == Code::invalid_argument);
}

}  // namespace

}  // namespace linformer_test::threads_test
