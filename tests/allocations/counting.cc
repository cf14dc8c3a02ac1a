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

[[maybe_unused]] void count(size_t size) {
  if (!counting.load(std::memory_order_relaxed)) return;
  calls.fetch_add(1, std::memory_order_relaxed);
  bytes.fetch_add(static_cast<int64_t>(size), std::memory_order_relaxed);
}

#if LINFORMER_COUNTS
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

void refuse_beyond(int64_t bytes) {
  room = bytes;
  refusing = true;
}

void stop_refusing() { refusing = false; }

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
  return linformer_test::grant(__libc_malloc(size));
}
void* calloc(size_t count, size_t size) {
  linformer_test::count(count * size);
  return linformer_test::grant(__libc_calloc(count, size));
}
void* realloc(void* memory, size_t size) {
  linformer_test::count(size);
  if (!linformer_test::refusing.load(std::memory_order_relaxed)) return __libc_realloc(memory, size);
  void* moved = malloc(size);
  if (moved == nullptr || memory == nullptr) return moved;
  std::memcpy(moved, memory, std::min(size, malloc_usable_size(memory)));
  free(memory);
  return moved;
}
void* memalign(size_t alignment, size_t size) {
  linformer_test::count(size);
  return linformer_test::grant(__libc_memalign(alignment, size));
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
  return reinterpret_cast<void*>(syscall(SYS_mmap, address, size, protection, flags, file, offset));
}
}

namespace linformer_test {
namespace {

void* grant(void* memory) {
  if (memory == nullptr || !refusing.load(std::memory_order_relaxed)) return memory;
  const auto size = static_cast<int64_t>(malloc_usable_size(memory));
  if (room.fetch_sub(size, std::memory_order_relaxed) >= size) return memory;
  room.fetch_add(size, std::memory_order_relaxed);
  __libc_free(memory);
  errno = ENOMEM;
  return nullptr;
}

void release(void* memory) {
  if (memory == nullptr || !refusing.load(std::memory_order_relaxed)) return;
  room.fetch_add(static_cast<int64_t>(malloc_usable_size(memory)), std::memory_order_relaxed);
}

}  // namespace
}  // namespace linformer_test
#endif
