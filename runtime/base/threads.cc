#include "base/threads.h"

#include <new>

#include "base/process.h"

namespace LINFORMER_NAMESPACE {
namespace {

// The serial work between two parallel sections takes microseconds, so a waiting thread polls this many times before it
// sleeps. The threads of an idle session sleep, so they use no processor time.
constexpr int spins_before_sleep = 2000;

inline void pause_briefly() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// The parts of call_, from the lowest bit: the number of threads inside the call, a bit that is set while more threads
// may enter, and the number of the call. The number of the call wraps around after 2^21 calls: a thread that slept
// through exactly so many calls takes the new call for the last one that it saw, and doesn't join it.
constexpr uint32_t one_thread = 1, inside_mask = (1u << 10) - 1, open_bit = 1u << 10, one_call = 1u << 11;
static_assert(ThreadTeam::max_threads < inside_mask);

}  // namespace

Status ThreadTeam::start(int threads, const ParallelFor& caller_loop) {
  if (threads < 1 || threads > max_threads) {
    return Status::error(Code::invalid_argument, "threads is %d: give 1 to %d", threads, max_threads);
  }
  size_ = threads;
  caller_loop_ = caller_loop;
  if (threads == 1 || caller_loop_.run != nullptr) return {};
  workers_.reset(new (std::nothrow) Worker[threads - 1]);
  if (!workers_) return Status::error(Code::out_of_memory, "no memory for %d threads: ask for fewer threads", threads);
  process_ = platform::process_id();
  for (int i = 0; i < threads - 1; ++i) {
    workers_[i] = {this, i + 1, {}};
    if (!platform::start_thread(&ThreadTeam::worker_main, &workers_[i], &workers_[i].thread)) {
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
  if (process_ != platform::process_id()) {
    // A forked child has only the thread that called fork(), so there are no workers to join.
    started_ = 0;
    return;
  }
  stopping_.store(true, std::memory_order_relaxed);
  call_.fetch_add(one_call, std::memory_order_seq_cst);
  wake_sleepers();
  for (int i = 0; i < started_; ++i) platform::join_thread(&workers_[i].thread);
  started_ = 0;
}

// Waits until call_ isn't `old`: polls, then sleeps. May also return while call_ is still `old`.
void ThreadTeam::wait_for_call_change(uint32_t old) {
  for (int spin = 0; spin < spins_before_sleep; ++spin) {
    if (call_.load(std::memory_order_acquire) != old) return;
    pause_briefly();
  }
  sleepers_.fetch_add(1, std::memory_order_seq_cst);
  platform::wait_while(call_, old);
  sleepers_.fetch_sub(1, std::memory_order_relaxed);
}

// Wakes the threads that sleep until call_ changes. The caller has changed call_ by a seq_cst operation. No thread
// misses the change: a thread increments sleepers_ before it compares call_ with the old value, so either this function
// sees the increment, or the thread's comparison sees the change (see wait_while() in platform.h). The system is called
// only if a thread sleeps.
void ThreadTeam::wake_sleepers() {
  if (sleepers_.load(std::memory_order_seq_cst) != 0) platform::wake_all(call_);
}

void ThreadTeam::worker_main(void* argument) {
  Worker* worker = static_cast<Worker*>(argument);
  ThreadTeam& team = *worker->team;
  uint32_t seen = 0;  // The number of the last call that this thread joined or came too late for.
  for (uint32_t call;;) {
    call = team.call_.load(std::memory_order_acquire);
    if (team.stopping_.load(std::memory_order_relaxed)) return;
    const uint32_t number = call / one_call;
    if (number == seen) {
      team.wait_for_call_change(call);
      continue;
    }
    if ((call & open_bit) == 0) {
      seen = number;
      continue;
    }
    if (!team.call_.compare_exchange_weak(call, call + one_thread, std::memory_order_acq_rel)) continue;
    seen = number;
    team.function_(team.context_, worker->index);
    const uint32_t left = team.call_.fetch_sub(one_thread, std::memory_order_seq_cst) - one_thread;
    // The calling thread waits for the others only after it has closed the call, so an open call needs no wake-up.
    if ((left & (open_bit | inside_mask)) == 0) team.wake_sleepers();
  }
}

void ThreadTeam::run(Function function, void* context) {
  if (size() == 1) {
    function(context, 0);
    return;
  }
  if (caller_loop_.run != nullptr) {
    struct Call {
      Function function;
      void* context;
    } call{function, context};
    caller_loop_.run(
        caller_loop_.context,
        [](void* argument, int index) {
          const Call& made = *static_cast<const Call*>(argument);
          made.function(made.context, index);
        },
        &call, size_);
    return;
  }
  function_ = function;
  context_ = context;
  // No thread is inside, because the last call to run() closed its call and waited until all threads had left.
  const uint32_t number = call_.load(std::memory_order_relaxed) / one_call + 1;
  call_.exchange(number * one_call | open_bit, std::memory_order_seq_cst);
  wake_sleepers();
  function(context, 0);
  uint32_t call = call_.fetch_and(~open_bit, std::memory_order_acq_rel) & ~open_bit;
  while ((call & inside_mask) != 0) {
    wait_for_call_change(call);
    call = call_.load(std::memory_order_acquire);
  }
}

}  // namespace LINFORMER_NAMESPACE
