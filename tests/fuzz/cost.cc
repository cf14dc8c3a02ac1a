#include "fuzz/cost.h"

#include <sanitizer/allocator_interface.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace linformer_fuzz {
namespace {

// The size of the heap is read only once for this many allocated bytes. The measured peak may therefore be too small by
// up to this many bytes.
constexpr uint64_t granularity = 1 << 12;

std::atomic<uint64_t> calls{0}, since_last{0}, peak{0};
uint64_t outside = 0;        // The bytes that add_non_heap_memory() was given.
int report = STDERR_FILENO;  // A copy of standard error, because a target may redirect standard error itself.

void update_peak() {
  const uint64_t bytes = __sanitizer_get_current_allocated_bytes();
  uint64_t highest = peak.load(std::memory_order_relaxed);
  while (bytes > highest && !peak.compare_exchange_weak(highest, bytes, std::memory_order_relaxed)) {
  }
}

void on_malloc(const volatile void*, size_t size) {
  calls.fetch_add(1, std::memory_order_relaxed);
  if (since_last.fetch_add(size, std::memory_order_relaxed) + size < granularity) return;
  since_last.store(0, std::memory_order_relaxed);
  update_peak();
}

void on_free(const volatile void*) {}

double processor_nanoseconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

// Smaller inputs are left out of the cost per byte, because most of their cost is the constant part of the bound.
constexpr uint64_t some_bytes = 1024;

// The largest cost of any input for one kind of work.
struct Worst {
  double each = 0;   // The largest cost per byte of an input of at least some_bytes.
  double share = 0;  // The largest share of the bound.
};

struct Account {
  Bounds bounds;
  uint64_t inputs = 0;
  Worst nanoseconds, memory, output;
};

std::vector<Account>& accounts() {
  static std::vector<Account> all;
  return all;
}

Account& account_of(const Bounds& bounds) {
  for (Account& account : accounts()) {
    if (std::strcmp(account.bounds.what, bounds.what) == 0) return account;
  }
  accounts().push_back({bounds, 0, {}, {}, {}});
  return accounts().back();
}

double permitted(const Bound& bound, uint64_t bytes) { return bound.each * static_cast<double>(bytes) + bound.free; }

void check_bound(const char* what, const char* unit, const Bound& bound, uint64_t bytes, double cost, Worst* worst) {
  const double most = permitted(bound, bytes);
  if (cost > most) {
    report_violation("%s: %.0f %s for %llu bytes of input (%.1f per byte); the bound is %g per byte and %g", what, cost,
                     unit, static_cast<unsigned long long>(bytes),
                     cost / static_cast<double>(std::max<uint64_t>(bytes, 1)), bound.each, bound.free);
  }
  if (bytes >= some_bytes) worst->each = std::max(worst->each, cost / static_cast<double>(bytes));
  if (most > 0) worst->share = std::max(worst->share, cost / most);
}

void print_one(const char* what, const char* unit, const Bound& bound, const Worst& worst) {
  if (permitted(bound, 1) == 0) return;
  dprintf(report, "cost: %-24s %-15s %9.1f for a byte; bound %.0f and %.0f for each; worst share of it %.1f %%\n", what,
          unit, worst.each, bound.free, bound.each, 100 * worst.share);
}

void print_all() {
  for (const Account& account : accounts()) {
    dprintf(report, "cost: %-24s %llu times\n", account.bounds.what, static_cast<unsigned long long>(account.inputs));
    print_one(account.bounds.what, "ns", account.bounds.nanoseconds, account.nanoseconds);
    print_one(account.bounds.what, "bytes of memory", account.bounds.memory, account.memory);
    print_one(account.bounds.what, "bytes of output", account.bounds.output, account.output);
  }
}

}  // namespace

void start_accounting() {
  report = ::dup(STDERR_FILENO);
  __sanitizer_install_malloc_and_free_hooks(on_malloc, on_free);
  accounts();  // The list must be constructed before print_all is registered, so that it is destroyed after it.
  std::atexit(print_all);
}

void run_within_bounds(const Bounds& bounds, uint64_t input_bytes, const std::function<uint64_t()>& work) {
  constexpr int attempts = 3;
  double fastest = 0;
  uint64_t memory = 0, output = 0;
  for (int attempt = 0; attempt < attempts; ++attempt) {
    outside = 0;
    const uint64_t before = __sanitizer_get_current_allocated_bytes();
    peak.store(before, std::memory_order_relaxed);
    since_last.store(0, std::memory_order_relaxed);
    const double start = processor_nanoseconds();
    output = work();
    const double taken = processor_nanoseconds() - start;
    fastest = attempt == 0 ? taken : std::min(fastest, taken);
    memory = std::max(memory, peak.load(std::memory_order_relaxed) - before + outside);
    if (fastest <= permitted(bounds.nanoseconds, input_bytes)) break;
  }
  Account& account = account_of(bounds);
  ++account.inputs;
  check_bound(bounds.what, "ns", bounds.nanoseconds, input_bytes, fastest, &account.nanoseconds);
  check_bound(bounds.what, "bytes of memory", bounds.memory, input_bytes, static_cast<double>(memory), &account.memory);
  check_bound(bounds.what, "bytes of output", bounds.output, input_bytes, static_cast<double>(output), &account.output);
}

void add_non_heap_memory(uint64_t bytes) { outside += bytes; }

uint64_t allocations() { return calls.load(std::memory_order_relaxed); }

void report_violation(const char* format, ...) {
  char line[512];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(line, sizeof line, format, arguments);
  va_end(arguments);
  dprintf(report, "VIOLATED: %s\n", line);
  std::abort();
}

}  // namespace linformer_fuzz

// The address sanitizer keeps freed memory in quarantine. With a small quarantine, nearly all of libFuzzer's memory
// limit is left for the target.
extern "C" const char* __asan_default_options() { return "quarantine_size_mb=32:detect_leaks=1"; }
