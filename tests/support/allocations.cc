#include "support/allocations.h"

#include <malloc.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstring>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define LINFORMER_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define LINFORMER_SANITIZED 1
#endif
#endif

namespace linformer_test {
namespace {

// `alive` and `blocks` fall below zero if a block is freed that was allocated before it could be counted.
std::atomic<int64_t> alive{0}, highest{0}, blocks{0};
std::atomic<int64_t> most_alive{INT64_MAX};  // the limit that limit_memory() sets
std::atomic<bool> counting{false};
std::atomic<int64_t> calls{0}, bytes{0};
std::atomic<bool> refusing_requests{false}, refusing_later{false};
std::atomic<int64_t> requests{0}, refused_request{0};

// Counts a block of `size` bytes. Returns false and counts nothing if the block would exceed the limit of
// limit_memory().
bool count_block(size_t size) {
  const int64_t now =
      alive.fetch_add(static_cast<int64_t>(size), std::memory_order_relaxed) + static_cast<int64_t>(size);
  if (now > most_alive.load(std::memory_order_relaxed)) {
    alive.fetch_sub(static_cast<int64_t>(size), std::memory_order_relaxed);
    return false;
  }
  blocks.fetch_add(1, std::memory_order_relaxed);
  int64_t most = highest.load(std::memory_order_relaxed);
  while (now > most && !highest.compare_exchange_weak(most, now, std::memory_order_relaxed)) {
  }
  return true;
}

void freed(size_t size) {
  alive.fetch_sub(static_cast<int64_t>(size), std::memory_order_relaxed);
  blocks.fetch_sub(1, std::memory_order_relaxed);
}

}  // namespace

AllocationPeak::AllocationPeak() : before_(alive) { highest = before_; }
uint64_t AllocationPeak::bytes() const { return static_cast<uint64_t>(highest - before_); }

void start_counting() {
  calls = 0;
  bytes = 0;
  counting = true;
}

Allocations stop_counting() {
  counting = false;
  return {calls, bytes};
}

void limit_memory(int64_t most) { most_alive = alive + most; }
void end_memory_limit() { most_alive = INT64_MAX; }

void fail_request(int64_t number, bool and_later) {
  requests = 0;
  refused_request = number;
  refusing_later = and_later;
  refusing_requests = true;
}

int64_t stop_failing_requests() {
  refusing_requests = false;
  return requests;
}

int64_t live_blocks() { return blocks; }

}  // namespace linformer_test

#if defined(LINFORMER_SANITIZED)

// These functions are declared as in <sanitizer/allocator_interface.h>, which GCC doesn't install.
extern "C" int __sanitizer_install_malloc_and_free_hooks(void (*on_malloc)(const volatile void*, size_t),
                                                         void (*on_free)(const volatile void*));
extern "C" size_t __sanitizer_get_allocated_size(const volatile void* memory);

namespace linformer_test {

bool counting_works() { return false; }

namespace {

void on_malloc(const volatile void*, size_t size) { count_block(size); }
void on_free(const volatile void* memory) {
  if (memory != nullptr) freed(__sanitizer_get_allocated_size(memory));
}

// The sanitizer replaces malloc, so that only its hooks can count.
[[maybe_unused]] const int installed = __sanitizer_install_malloc_and_free_hooks(on_malloc, on_free);

}  // namespace
}  // namespace linformer_test

#elif !defined(__GLIBC__)
#error "add code that counts the allocations of this C library: without it, every bound would hold"
#else

// The definitions of malloc() and others below replace glibc's functions for every library in the process. glibc's own
// functions also have these names.
extern "C" {
void* __libc_malloc(size_t size);
void* __libc_calloc(size_t count, size_t size);
void* __libc_realloc(void* memory, size_t size);
void* __libc_memalign(size_t alignment, size_t size);
void __libc_free(void* memory);
}

namespace linformer_test {

bool counting_works() { return true; }

namespace {

// Counts the request. Returns whether to refuse it.
bool refused(size_t size) {
  if (counting.load(std::memory_order_relaxed)) {
    calls.fetch_add(1, std::memory_order_relaxed);
    bytes.fetch_add(static_cast<int64_t>(size), std::memory_order_relaxed);
  }
  if (!refusing_requests.load(std::memory_order_relaxed)) return false;
  const int64_t number = requests.fetch_add(1, std::memory_order_relaxed) + 1;
  const int64_t first = refused_request.load(std::memory_order_relaxed);
  if (number != first && !(number > first && refusing_later.load(std::memory_order_relaxed))) return false;
  errno = ENOMEM;
  return true;
}

// Returns the block that glibc allocated. If the block exceeds the limit of limit_memory(), frees the block and
// returns null.
void* enforce_limit(void* memory) {
  if (memory == nullptr || count_block(malloc_usable_size(memory))) return memory;
  __libc_free(memory);
  errno = ENOMEM;
  return nullptr;
}

}  // namespace
}  // namespace linformer_test

extern "C" {
using namespace linformer_test;

void* malloc(size_t size) { return refused(size) ? nullptr : enforce_limit(__libc_malloc(size)); }
void* calloc(size_t count, size_t size) {
  return refused(count * size) ? nullptr : enforce_limit(__libc_calloc(count, size));
}
void* memalign(size_t alignment, size_t size) {
  return refused(size) ? nullptr : enforce_limit(__libc_memalign(alignment, size));
}
void* aligned_alloc(size_t alignment, size_t size) { return memalign(alignment, size); }
int posix_memalign(void** memory, size_t alignment, size_t size) {
  *memory = memalign(alignment, size);
  return *memory == nullptr ? ENOMEM : 0;
}
void free(void* memory) {
  if (memory != nullptr) freed(malloc_usable_size(memory));
  __libc_free(memory);
}
// Both blocks are alive while the bytes are copied, which is the most that a realloc may hold.
void* realloc(void* memory, size_t size) {
  if (memory != nullptr && size == 0) {
    free(memory);
    return nullptr;
  }
  void* moved = malloc(size);
  if (moved == nullptr || memory == nullptr) return moved;
  std::memcpy(moved, memory, std::min(size, malloc_usable_size(memory)));
  free(memory);
  return moved;
}
void* mmap(void* address, size_t size, int protection, int flags, int file, off_t offset) noexcept {
  if (refused(size)) return MAP_FAILED;
  return reinterpret_cast<void*>(syscall(SYS_mmap, address, size, protection, flags, file, offset));
}
}

#endif
