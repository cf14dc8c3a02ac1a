// A fork-join team of threads, and the tasks that they share. A team allocates no memory after start().
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

// A parallel loop that the user of the library provides. run() calls task(argument, i) once for each i in [0, count),
// on any threads, concurrently or one after the other, and returns when all calls have returned.
struct ParallelFor {
  void (*run)(void* context, void (*task)(void* argument, int index), void* argument, int count) = nullptr;
  void* context = nullptr;
};

// A fork-join team: the thread that calls run(), and the worker threads that start() made.
class ThreadTeam {
 public:
  static constexpr int max_threads = CpuOptions::max_threads;
  using Function = void (*)(void* context, int thread);

  ThreadTeam() = default;
  ~ThreadTeam() { stop(); }
  ThreadTeam(const ThreadTeam&) = delete;
  ThreadTeam& operator=(const ThreadTeam&) = delete;

  // Starts threads - 1 worker threads. If `caller_loop` has a function, starts no threads, and run() hands its work to
  // this function.
  Status start(int threads, const ParallelFor& caller_loop = {});
  int size() const { return one_ ? 1 : size_; }
  // Decides whether later calls of run() use the calling thread alone.
  void set_one_thread(bool one_thread) { one_ = one_thread; }

  // Runs function(context, 0) on the calling thread, and function(context, t) on each worker thread t that joins before
  // function(context, 0) has returned. Returns when all threads that joined have finished. A worker that the system
  // schedules too late isn't waited for, so the function must not count on it: it must hand out its work task by task
  // (TaskCounter). Calls do not nest. In a forked child, which has no worker threads, the calling thread does all the
  // work.
  void run(Function function, void* context);

  // Runs a callable that takes the thread's number (int). The callable isn't copied.
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
  static void worker_main(void* worker);
  void stop();
  void wait_for_call_change(uint32_t old);
  void wake_sleepers();

  ParallelFor caller_loop_;
  int size_ = 1;
  bool one_ = false;
  int started_ = 0;
  int64_t process_ = 0;  // The process that started the workers.
  std::unique_ptr<Worker[]> workers_;
  // The current call: how many threads are inside, whether more may enter, and the call's number (see threads.cc).
  std::atomic<uint32_t> call_{0};
  // The number of threads that sleep until call_ changes, or are about to sleep.
  std::atomic<uint32_t> sleepers_{0};
  std::atomic<bool> stopping_{false};
  Function function_ = nullptr;
  void* context_ = nullptr;
};

// Hands out the tasks [0, count) one by one. A thread first takes the tasks of its own share, then tasks that are left
// in the shares of other threads. For equal counts a thread's share is the same, so the data that the thread wrote for
// a task before may still be in its cache.
class TaskCounter {
 public:
  // Returns false if there is no memory.
  bool try_reserve(int threads) {
    next_.reset(new (std::nothrow) Next[static_cast<size_t>(threads)]);
    return next_ != nullptr;
  }
  // Begins a new set of tasks, while no thread calls next(). `threads` is at most the number that was reserved.
  void reset(int64_t count, int threads) {
    count_ = count;
    threads_ = threads;
    for (int t = 0; t < threads; ++t) next_[t].task.store(first_task(t, count, threads), std::memory_order_relaxed);
  }
  // Takes a task for the thread `thread`. Returns false if no task is left.
  bool next(int thread, int64_t* task) {
    for (int i = 0; i < threads_; ++i) {
      const int owner = (thread + i) % threads_;
      const int64_t end = first_task(owner + 1, count_, threads_);
      std::atomic<int64_t>& next = next_[owner].task;
      if (next.load(std::memory_order_relaxed) >= end) continue;
      *task = next.fetch_add(1, std::memory_order_relaxed);
      if (*task < end) return true;
    }
    return false;
  }
  // Returns the first task of a thread's own share. It is rounded up, so that thread 0 has a task even if there are
  // fewer tasks than threads: thread 0 is the calling thread, which always takes part.
  static int64_t first_task(int thread, int64_t count, int threads) { return (count * thread + threads - 1) / threads; }

 private:
  // The next task of a thread's share. It has a cache line of its own, so that threads that take tasks of different
  // shares don't slow each other down.
  struct alignas(64) Next {
    std::atomic<int64_t> task{0};
  };
  int64_t count_ = 0;
  int threads_ = 0;
  std::unique_ptr<Next[]> next_;
};

}  // namespace LINFORMER_NAMESPACE
