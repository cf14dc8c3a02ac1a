#include "hostile_model/allocations.h"

#include <malloc.h>

#include <algorithm>
#include <cstdlib>
#include <new>

namespace {

uint64_t alive = 0, highest = 0;

void* allocate(size_t size) noexcept {
  void* memory = std::malloc(size);
  if (memory != nullptr) {
    alive += malloc_usable_size(memory);
    highest = std::max(highest, alive);
  }
  return memory;
}

void release(void* memory) noexcept {
  if (memory != nullptr) alive -= malloc_usable_size(memory);
  std::free(memory);
}

void* allocate_or_throw(size_t size) {
  void* memory = allocate(size);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace

void* operator new(size_t size) { return allocate_or_throw(size); }
void* operator new[](size_t size) { return allocate_or_throw(size); }
void* operator new(size_t size, const std::nothrow_t&) noexcept { return allocate(size); }
void* operator new[](size_t size, const std::nothrow_t&) noexcept { return allocate(size); }
void operator delete(void* memory) noexcept { release(memory); }
void operator delete[](void* memory) noexcept { release(memory); }
void operator delete(void* memory, size_t) noexcept { release(memory); }
void operator delete[](void* memory, size_t) noexcept { release(memory); }
void operator delete(void* memory, const std::nothrow_t&) noexcept { release(memory); }
void operator delete[](void* memory, const std::nothrow_t&) noexcept { release(memory); }

namespace linformer_test {

AllocationPeak::AllocationPeak() : before_(alive) { highest = alive; }
uint64_t AllocationPeak::bytes() const { return highest - before_; }

}  // namespace linformer_test
