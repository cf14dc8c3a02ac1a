#include "hostile_model/allocations.h"

#include <malloc.h>

#include <atomic>
#include <cerrno>
#include <cstddef>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define LINFORMER_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define LINFORMER_SANITIZED 1
#endif
#endif

#if defined(LINFORMER_SANITIZED)
// As in <sanitizer/allocator_interface.h>, which GCC doesn't bring.
extern "C" int __sanitizer_install_malloc_and_free_hooks(void (*on_malloc)(const volatile void*, size_t),
                                                         void (*on_free)(const volatile void*));
extern "C" size_t __sanitizer_get_allocated_size(const volatile void* memory);
#elif !defined(__GLIBC__)
#error "say here how this C library's allocations are counted: a bound on nothing would always hold"
#endif

namespace {

// `alive` falls below zero where a block is freed that was given before its allocation could be counted.
std::atomic<int64_t> alive{0}, highest{0};

void taken(size_t size) {
  const int64_t now =
      alive.fetch_add(static_cast<int64_t>(size), std::memory_order_relaxed) + static_cast<int64_t>(size);
  int64_t most = highest.load(std::memory_order_relaxed);
  while (now > most && !highest.compare_exchange_weak(most, now, std::memory_order_relaxed)) {
  }
}

void freed(size_t size) { alive.fetch_sub(static_cast<int64_t>(size), std::memory_order_relaxed); }

}  // namespace

#if defined(LINFORMER_SANITIZED)

namespace {

void on_malloc(const volatile void*, size_t size) { taken(size); }
void on_free(const volatile void* memory) {
  if (memory != nullptr) freed(__sanitizer_get_allocated_size(memory));
}

// The sanitizer has malloc's place.
[[maybe_unused]] const int installed = __sanitizer_install_malloc_and_free_hooks(on_malloc, on_free);

}  // namespace

#else

// The program's definitions replace glibc's for every library in the process; glibc keeps its own under these names.
extern "C" {
void* __libc_malloc(size_t size);
void* __libc_calloc(size_t count, size_t size);
void* __libc_realloc(void* memory, size_t size);
void* __libc_memalign(size_t alignment, size_t size);
void __libc_free(void* memory);

void* malloc(size_t size) {
  void* memory = __libc_malloc(size);
  if (memory != nullptr) taken(malloc_usable_size(memory));
  return memory;
}
void* calloc(size_t count, size_t size) {
  void* memory = __libc_calloc(count, size);
  if (memory != nullptr) taken(malloc_usable_size(memory));
  return memory;
}
void* realloc(void* memory, size_t size) {
  const size_t before = memory == nullptr ? 0 : malloc_usable_size(memory);
  void* moved = __libc_realloc(memory, size);
  if (moved != nullptr) {
    // Both are there while the bytes are copied.
    taken(malloc_usable_size(moved));
    freed(before);
  } else if (size == 0) {
    freed(before);
  }
  return moved;
}
void* memalign(size_t alignment, size_t size) {
  void* memory = __libc_memalign(alignment, size);
  if (memory != nullptr) taken(malloc_usable_size(memory));
  return memory;
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
}

#endif

namespace linformer_test {

AllocationPeak::AllocationPeak() : before_(alive) { highest = before_; }
uint64_t AllocationPeak::bytes() const { return static_cast<uint64_t>(highest - before_); }

}  // namespace linformer_test
