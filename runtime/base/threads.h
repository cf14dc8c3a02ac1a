// A fork-join team: the caller and the threads that it asked for. Nothing allocates after start().
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <new>
#include <type_traits>

#include "base/platform.h"
#include "linformer/session_options.h"
#include "linformer/status.h"
#include "linformer/version.h"

namespace LINFORMER_NAMESPACE {

// A parallel-for of the caller's: calls task(argument, i) once for each i of [0, count), on any threads, at once or one
// after the other, and returns when all have returned.
struct ParallelFor {
  void (*run)(void* context, void (*task)(void* argument, int index), void* argument, int count) = nullptr;
  void* context = nullptr;
};

class ThreadTeam {
 public:
  static constexpr int max_threads = CpuOptions::max_threads;
  using Function = void (*)(void* context, int thread);

  ThreadTeam() = default;
  ~ThreadTeam() { stop(); }
  ThreadTeam(const ThreadTeam&) = delete;
  ThreadTeam& operator=(const ThreadTeam&) = delete;

  // Starts threads - 1 threads; none for 1, nor where work goes to the caller's.
  Status start(int threads, const ParallelFor& callers = {});
  int size() const { return one_ ? 1 : size_; }
  // Whether calls from here on run on the calling thread alone.
  void use(bool one_thread) { one_ = one_thread; }

  // Runs function(context, 0) on the calling thread and function(context, t) on each other thread t that comes before
  // the call has returned there; returns when all that came have finished. So the function must share its work out
  // (TaskCounter), and a thread that the system hasn't yet let in holds nobody up. Calls do not nest. In a forked
  // child, where the threads aren't, the caller does all the work.
  void run(Function function, void* context);

  // The same for a callable taking int; nothing is copied.
  template <class Callable>
  void run(Callable&& callable) {
    run([](void* context, int thread) { (*static_cast<std::remove_reference_t<Callable>*>(context))(thread); },
        &callable);
  }

 private:
  struct Worker {
    ThreadTeam* team;
    int index;
    platform::Thread thread;
  };
  static void work(void* worker);
  void stop();
  void wait_while_call(uint32_t old);
  void wake_sleepers();

  ParallelFor callers_;
  int size_ = 1;
  bool one_ = false;
  int started_ = 0;
  int64_t process_ = 0;  // that they were started in
  std::unique_ptr<Worker[]> workers_;
  // The call in progress: how many threads are in it, whether more may come, and its number (threads.cc).
  std::atomic<uint32_t> call_{0};
  // Threads that sleep until call_ changes, or are about to.
  std::atomic<uint32_t> sleepers_{0};
  std::atomic<bool> stopping_{false};
  Function function_ = nullptr;
  void* context_ = nullptr;
};

// Hands out the tasks [0, count) one by one. A thread takes its own share of them first, the same share whenever the
// count is, so that it finds in its own cache what it wrote there; then what is left of the others'.
class TaskCounter {
 public:
  // False: there is no memory for that.
  bool try_reserve(int threads) {
    next_.reset(new (std::nothrow) Next[static_cast<size_t>(threads)]);
    return next_ != nullptr;
  }
  // While nobody asks for tasks; `threads` is at most what was reserved.
  void begin(int64_t count, int threads) {
    count_ = count;
    threads_ = threads;
    for (int t = 0; t < threads; ++t) next_[t].task.store(first_of(t, count, threads), std::memory_order_relaxed);
  }
  bool next(int thread, int64_t* task) {
    for (int i = 0; i < threads_; ++i) {
      const int owner = (thread + i) % threads_;
      const int64_t end = first_of(owner + 1, count_, threads_);
      std::atomic<int64_t>& next = next_[owner].task;
      if (next.load(std::memory_order_relaxed) >= end) continue;
      *task = next.fetch_add(1, std::memory_order_relaxed);
      if (*task < end) return true;
    }
    return false;
  }
  // The first task of a thread's own share. Of fewer tasks than threads the caller, who is always there, has one.
  static int64_t first_of(int thread, int64_t count, int threads) { return (count * thread + threads - 1) / threads; }

 private:
  struct alignas(64) Next {  // a cache line each: taking one's own tasks takes nothing from the others
    std::atomic<int64_t> task{0};
  };
  int64_t count_ = 0;
  int threads_ = 0;
  std::unique_ptr<Next[]> next_;
};

}  // namespace LINFORMER_NAMESPACE
