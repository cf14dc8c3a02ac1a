#include "allocations/counting.h"

#include <malloc.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>

#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define LINFORMER_COUNTS 1
#else
#define LINFORMER_COUNTS 0
#endif

namespace linformer_test {
namespace {

std::atomic<bool> counting{false};
std::atomic<int64_t> calls{0}, bytes{0};
std::atomic<bool> refusing{false};
std::atomic<int64_t> room{0};
std::atomic<bool> refusing_requests{false}, refusing_later{false};
std::atomic<int64_t> requests{0}, refused_request{0};
std::atomic<int64_t> live{0};

[[maybe_unused]] void count(size_t size) {
  if (!counting.load(std::memory_order_relaxed)) return;
  calls.fetch_add(1, std::memory_order_relaxed);
  bytes.fetch_add(static_cast<int64_t>(size), std::memory_order_relaxed);
}

#if LINFORMER_COUNTS
// Whether this request is one to refuse.
bool refused();
// What was given, or null after giving it back.
void* grant(void* memory);
// Memory that is about to be freed.
void release(void* memory);
#endif

}  // namespace

bool counting_works() { return LINFORMER_COUNTS != 0; }

void start_counting() {
  calls = 0;
  bytes = 0;
  counting = true;
}

Allocations stop_counting() {
  counting = false;
  return {calls, bytes};
}

void refuse_beyond(int64_t most) {
  room = most;
  refusing = true;
}

void stop_refusing() { refusing = false; }

void refuse_request(int64_t number, bool and_later) {
  requests = 0;
  refused_request = number;
  refusing_later = and_later;
  refusing_requests = true;
}

int64_t stop_refusing_requests() {
  refusing_requests = false;
  return requests;
}

int64_t live_blocks() { return live; }

}  // namespace linformer_test

#if LINFORMER_COUNTS
// The program's definitions replace glibc's for every library in the process; glibc keeps its own under these names.
extern "C" {
void* __libc_malloc(size_t size);
void* __libc_calloc(size_t count, size_t size);
void* __libc_realloc(void* memory, size_t size);
void* __libc_memalign(size_t alignment, size_t size);
void __libc_free(void* memory);

void* malloc(size_t size) {
  linformer_test::count(size);
  return linformer_test::refused() ? nullptr : linformer_test::grant(__libc_malloc(size));
}
void* calloc(size_t count, size_t size) {
  linformer_test::count(count * size);
  return linformer_test::refused() ? nullptr : linformer_test::grant(__libc_calloc(count, size));
}
void* realloc(void* memory, size_t size) {
  linformer_test::count(size);
  if (!linformer_test::refusing.load(std::memory_order_relaxed)) {
    if (linformer_test::refused()) return nullptr;
    void* moved = __libc_realloc(memory, size);
    if (memory == nullptr && moved != nullptr) ++linformer_test::live;
    return moved;
  }
  void* moved = malloc(size);
  if (moved == nullptr || memory == nullptr) return moved;
  std::memcpy(moved, memory, std::min(size, malloc_usable_size(memory)));
  free(memory);
  return moved;
}
void* memalign(size_t alignment, size_t size) {
  linformer_test::count(size);
  return linformer_test::refused() ? nullptr : linformer_test::grant(__libc_memalign(alignment, size));
}
void* aligned_alloc(size_t alignment, size_t size) { return memalign(alignment, size); }
int posix_memalign(void** memory, size_t alignment, size_t size) {
  *memory = memalign(alignment, size);
  return *memory == nullptr ? ENOMEM : 0;
}
void free(void* memory) {
  linformer_test::release(memory);
  __libc_free(memory);
}
void* mmap(void* address, size_t size, int protection, int flags, int file, off_t offset) noexcept {
  linformer_test::count(size);
  if (linformer_test::refused()) return MAP_FAILED;
  return reinterpret_cast<void*>(syscall(SYS_mmap, address, size, protection, flags, file, offset));
}
}

namespace linformer_test {
namespace {

bool refused() {
  if (!refusing_requests.load(std::memory_order_relaxed)) return false;
  const int64_t number = requests.fetch_add(1, std::memory_order_relaxed) + 1;
  const int64_t first = refused_request.load(std::memory_order_relaxed);
  if (number != first && !(number > first && refusing_later.load(std::memory_order_relaxed))) return false;
  errno = ENOMEM;
  return true;
}

void* grant(void* memory) {
  if (memory == nullptr) return nullptr;
  live.fetch_add(1, std::memory_order_relaxed);
  if (!refusing.load(std::memory_order_relaxed)) return memory;
  const auto size = static_cast<int64_t>(malloc_usable_size(memory));
  if (room.fetch_sub(size, std::memory_order_relaxed) >= size) return memory;
  live.fetch_sub(1, std::memory_order_relaxed);
  room.fetch_add(size, std::memory_order_relaxed);
  __libc_free(memory);
  errno = ENOMEM;
  return nullptr;
}

void release(void* memory) {
  if (memory == nullptr) return;
  live.fetch_sub(1, std::memory_order_relaxed);
  if (!refusing.load(std::memory_order_relaxed)) return;
  room.fetch_add(static_cast<int64_t>(malloc_usable_size(memory)), std::memory_order_relaxed);
}

}  // namespace
}  // namespace linformer_test
#endif
