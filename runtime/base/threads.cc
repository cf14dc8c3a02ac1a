#include "base/threads.h"

#include <new>

namespace linformer {
namespace {

// Steps between two parallel sections are microseconds apart, so a waiter looks a short while before it sleeps.
// Bounded: an idle session costs nothing.
constexpr int spins_before_sleep = 2000;

inline void pause_briefly() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

template <class T>
void wait_while_equal(const std::atomic<T>& value, T old) {
  for (int spin = 0; spin < spins_before_sleep; ++spin) {
    if (value.load(std::memory_order_acquire) != old) return;
    pause_briefly();
  }
  value.wait(old, std::memory_order_acquire);
}

}  // namespace

Status ThreadTeam::start(int threads) {
  if (threads < 1 || threads > max_threads) {
    return Status::error(Code::invalid_argument, "threads is %d: give 1 to %d", threads, max_threads);
  }
  size_ = threads;
  if (threads == 1) return {};
  workers_.reset(new (std::nothrow) Worker[threads - 1]);
  if (!workers_) return Status::error(Code::out_of_memory, "no memory for %d threads", threads);
  for (int i = 0; i < threads - 1; ++i) {
    workers_[i] = {this, i + 1, {}};
    if (pthread_create(&workers_[i].thread, nullptr, &ThreadTeam::work, &workers_[i]) != 0) {
      stop();
      return Status::error(Code::out_of_memory, "the system refused thread %d of %d: ask for fewer threads", i + 2,
                           threads);
    }
    ++started_;
  }
  return {};
}

void ThreadTeam::stop() {
  if (started_ == 0) return;
  stopping_.store(true, std::memory_order_relaxed);
  generation_.fetch_add(1, std::memory_order_release);
  generation_.notify_all();
  for (int i = 0; i < started_; ++i) pthread_join(workers_[i].thread, nullptr);
  started_ = 0;
}

void* ThreadTeam::work(void* argument) {
  Worker* worker = static_cast<Worker*>(argument);
  ThreadTeam& team = *worker->team;
  uint32_t seen = 0;
  for (;;) {
    wait_while_equal(team.generation_, seen);
    const uint32_t now = team.generation_.load(std::memory_order_acquire);
    if (now == seen) continue;
    seen = now;
    if (team.stopping_.load(std::memory_order_relaxed)) return nullptr;
    team.function_(team.context_, worker->index);
    if (team.pending_.fetch_sub(1, std::memory_order_acq_rel) == 1) team.pending_.notify_one();
  }
}

void ThreadTeam::run(Function function, void* context) {
  if (size_ == 1) {
    function(context, 0);
    return;
  }
  function_ = function;
  context_ = context;
  pending_.store(size_ - 1, std::memory_order_relaxed);
  generation_.fetch_add(1, std::memory_order_release);
  generation_.notify_all();
  function(context, 0);
  for (int32_t left; (left = pending_.load(std::memory_order_acquire)) != 0;) wait_while_equal(pending_, left);
}

}  // namespace linformer
