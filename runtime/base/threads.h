// A fork-join team: the caller and the threads that it asked for. Nothing allocates after start().
#pragma once

#include <pthread.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <type_traits>

#include "linformer/status.h"

namespace linformer {

class ThreadTeam {
 public:
  static constexpr int max_threads = 256;
  using Function = void (*)(void* context, int thread);

  ThreadTeam() = default;
  ~ThreadTeam() { stop(); }
  ThreadTeam(const ThreadTeam&) = delete;
  ThreadTeam& operator=(const ThreadTeam&) = delete;

  // Starts threads - 1 threads; 1 starts none.
  Status start(int threads);
  int size() const { return size_; }

  // Runs function(context, 0) on the calling thread and function(context, t) on each other thread t that comes before
  // the call has returned there; returns when all that came have finished. So the function must share its work out
  // (TaskCounter), and a thread that the system hasn't yet let in holds nobody up. Calls do not nest.
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
    pthread_t thread;
  };
  static void* work(void* worker);
  void stop();

  int size_ = 1;
  int started_ = 0;
  std::unique_ptr<Worker[]> workers_;
  // The call in progress: how many threads are in it, whether more may come, and its number (threads.cc).
  std::atomic<uint32_t> call_{0};
  std::atomic<bool> stopping_{false};
  Function function_ = nullptr;
  void* context_ = nullptr;
};

// Hands out the tasks [0, count) one by one to whichever thread asks next.
class TaskCounter {
 public:
  explicit TaskCounter(int64_t count) : count_(count) {}
  bool next(int64_t* task) {
    *task = next_.fetch_add(1, std::memory_order_relaxed);
    return *task < count_;
  }

 private:
  int64_t count_;
  std::atomic<int64_t> next_{0};
};

}  // namespace linformer
