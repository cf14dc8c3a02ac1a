#include "bench/limits.h"

#if defined(__linux__)
#include <sys/mman.h>
#endif

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "bench/limit_loops.h"
#include "bench/machine.h"

namespace linformer::bench {
namespace {

constexpr int attempts = 6;

// A set of threads, which the destructor joins. If the system can't start a thread, add() sets *stop and throws, so
// that the threads that already run can end.
class Team {
 public:
  ~Team() {
    for (std::thread& thread : threads_) thread.join();
  }
  template <class Work>
  void add(int number, int of, std::atomic<bool>* stop, Work work) {
    try {
      threads_.emplace_back(std::move(work));
    } catch (const std::bad_alloc&) {
      stop->store(true);
      throw;
    } catch (const std::system_error&) {
      stop->store(true);
      throw std::runtime_error("the system refused thread " + std::to_string(number) + " of " + std::to_string(of) +
                               ": ask for fewer threads");
    }
  }

 private:
  std::vector<std::thread> threads_;
};

// Returns the number of words that each thread reads. All threads together read at least 192 MiB and four times their
// shared cache, and each thread reads more than the caches of its core hold. The total is at most half of the available
// memory.
size_t words_to_read(int threads) {
  constexpr uint64_t least = uint64_t{192} << 20, least_of_thread = uint64_t{8} << 20;
  const uint64_t count = static_cast<uint64_t>(threads), free_bytes = available_memory();
  uint64_t bytes = std::max({least, 4 * shared_cache_bytes(), least_of_thread * count});
  if (free_bytes > 0) bytes = std::min(bytes, free_bytes / 2);
  constexpr uint64_t block = 4096;
  return static_cast<size_t>(std::max(bytes / count / block, uint64_t{1}) * block / sizeof(uint64_t));
}

// Measures a rate in several attempts of `seconds` each, and returns the best one, in units of 1e9 per second. In an
// attempt, each thread calls work(thread) again and again, and a call does `amount` operations or bytes. The rate is
// the amount of all threads, divided by the time from the moment when the last thread is ready to the end of the last
// thread. All threads share this time, so the rate isn't too high if there are more threads than processors.
double best_rate(int threads, double seconds, double amount, const std::function<void(int)>& work) {
  using Clock = std::chrono::steady_clock;
  const auto span = std::chrono::duration<double>(seconds);
  double best = 0;
  for (int attempt = 0; attempt < attempts; ++attempt) {
    std::atomic<int> ready{0};
    std::atomic<bool> begun{false}, stop{false};
    Clock::time_point begin;  // Valid after `begun` has been set.
    std::vector<Clock::time_point> ends(static_cast<size_t>(threads));
    std::atomic<int64_t> calls{0};
    {
      Team team;
      for (int t = 0; t < threads; ++t) {
        team.add(t + 1, threads, &stop, [&, t] {
          work(t);  // Warms up.
          if (ready.fetch_add(1) + 1 == threads) {
            begin = Clock::now();
            begun.store(true);
          }
          while (!begun.load()) {
            if (stop.load()) return;
            std::this_thread::yield();
          }
          Clock::time_point now;
          do {
            work(t);
            calls.fetch_add(1);
            now = Clock::now();
          } while (now - begin < span);
          ends[static_cast<size_t>(t)] = now;
        });
      }
    }
    const auto end = *std::max_element(ends.begin(), ends.end());
    const double taken = std::chrono::duration<double>(end - begin).count();
    best = std::max(best, static_cast<double>(calls.load()) * amount / taken / 1e9);
  }
  return best;
}

Rate arithmetic_rate(ElementType type, int threads, double seconds) {
  const ArithmeticLoop loop = arithmetic_loop(type);
  if (loop.run == nullptr) return {};
  const auto work = [&](int) { [[maybe_unused]] volatile float sink = loop.run(0.5f); };
  return {best_rate(threads, seconds, loop.operations, work), loop.instruction};
}

constexpr size_t huge_page = size_t{2} << 20;

struct Free {
  void operator()(uint64_t* words) const { ::operator delete(words, std::align_val_t(huge_page)); }
};
using Words = std::unique_ptr<uint64_t[], Free>;

// Allocates words in huge pages if the system has them. On a machine with a large cache the words take gigabytes, and
// setting up so many small pages would take longer than the measurement.
Words allocate_words(size_t count) {
  const size_t bytes = (count * sizeof(uint64_t) + huge_page - 1) / huge_page * huge_page;
  Words words(static_cast<uint64_t*>(::operator new(bytes, std::align_val_t(huge_page))));
#if defined(MADV_HUGEPAGE)
  ::madvise(words.get(), bytes, MADV_HUGEPAGE);
#endif
  return words;
}

Rate memory_rate(int threads, double seconds) {
  const size_t words_read = words_to_read(threads);
  std::vector<Words> data;
  for (int t = 0; t < threads; ++t) {
    data.push_back(allocate_words(words_read));
    // Writing gives each page its own memory. Pages that are only read would share a page of zeros.
    std::fill_n(data.back().get(), words_read, static_cast<uint64_t>(t) + 1);
  }
  // A call of work() reads a part of the words, so that best_rate() can end an attempt in time.
  constexpr size_t parts = 16;
  const size_t part = words_read / parts;
  std::vector<size_t> at(static_cast<size_t>(threads));
  const auto work = [&](int t) {
    size_t& next = at[static_cast<size_t>(t)];
    [[maybe_unused]] volatile uint64_t sink = read_words(data[static_cast<size_t>(t)].get() + next * part, part);
    next = (next + 1) % parts;
  };
  return {best_rate(threads, seconds, static_cast<double>(part) * sizeof(uint64_t), work), "read"};
}

// Returns the time in nanoseconds in which a number that one thread stores reaches a second thread, and the second
// thread's answer reaches the first. The result is the median of many short measurements, because some of them are
// interrupted. Returns 0 if there is only one thread or one processor.
double round_trip(int threads) {
  if (threads < 2 || std::thread::hardware_concurrency() < 2) return 0;
  using Clock = std::chrono::steady_clock;
  constexpr int trips = 200, most_batches = 400, spins = 20'000;
  constexpr double most_seconds = 0.2;  // The two threads may share one processor for some time, which is slow.
  constexpr int end = -1;
  std::atomic<int> word{0};
  // Waits until the word has this value. Returns false if the other thread has stored `end`.
  const auto wait_for = [&](int value) {
    for (int spin = 0;; ++spin) {
      const int now = word.load(std::memory_order_acquire);
      if (now == value) return true;
      if (now == end) return false;
      if (spin > spins) std::this_thread::yield();
    }
  };
  std::atomic<bool> stop{false};
  std::optional<Team> other(std::in_place);
  other->add(2, 2, &stop, [&] {
    for (int i = 0; wait_for(2 * i + 1); ++i) word.store(2 * i + 2, std::memory_order_release);
  });
  std::vector<double> batches;
  const auto begin = Clock::now();
  auto batch = begin;
  for (int i = 0; batches.size() < most_batches; ++i) {
    word.store(2 * i + 1, std::memory_order_release);
    wait_for(2 * i + 2);
    if ((i + 1) % trips != 0) continue;
    const auto now = Clock::now();
    batches.push_back(std::chrono::duration<double>(now - batch).count() * 1e9 / trips);
    batch = now;
    if (std::chrono::duration<double>(now - begin).count() > most_seconds) break;
  }
  word.store(end, std::memory_order_release);
  other.reset();
  std::nth_element(batches.begin(), batches.begin() + static_cast<ptrdiff_t>(batches.size() / 2), batches.end());
  return batches[batches.size() / 2];
}

nlohmann::ordered_json rate_json(const Rate& rate, const char* unit) {
  if (rate.instruction.empty()) return nullptr;
  return {{unit, rate.giga}, {"instruction", rate.instruction}};
}

}  // namespace

void Limits::raise(const Limits& other) {
  f32.giga = std::max(f32.giga, other.f32.giga);
  f16.giga = std::max(f16.giga, other.f16.giga);
  bf16.giga = std::max(bf16.giga, other.bf16.giga);
  int8.giga = std::max(int8.giga, other.int8.giga);
  memory.giga = std::max(memory.giga, other.memory.giga);
  least_round_trip = std::min(least_round_trip, other.least_round_trip);
  most_round_trip = std::max(most_round_trip, other.most_round_trip);
}

Limits measure_limits(int threads, double seconds) {
  // An attempt that is longer than 0.1 s gives no higher rate. On a busy machine, a shorter attempt may miss the
  // moments in which the threads don't share their processors with other work.
  const double attempt = std::min(seconds / (4 * attempts), 0.1);
  Limits limits;
  limits.f32 = arithmetic_rate(ElementType::f32, threads, attempt);
  limits.bf16 = arithmetic_rate(ElementType::bf16, threads, attempt);
  limits.int8 = arithmetic_rate(ElementType::int8, threads, attempt);
  limits.memory = memory_rate(threads, attempt);
  limits.least_round_trip = limits.most_round_trip = round_trip(threads);
  return limits;
}

void to_json(nlohmann::ordered_json& json, const Limits& limits) {
  json = {{"f32", rate_json(limits.f32, "gflops")},
          {"f16", rate_json(limits.f16, "gflops")},
          {"bf16", rate_json(limits.bf16, "gflops")},
          {"int8", rate_json(limits.int8, "gflops")},
          {"memory", rate_json(limits.memory, "gbps")}};
}

}  // namespace linformer::bench
