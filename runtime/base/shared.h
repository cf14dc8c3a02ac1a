// Makes std::shared_ptr usable in code without exceptions.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <memory>

#include "linformer/version.h"

namespace LINFORMER_NAMESPACE {

// An allocator that gives a shared_ptr a block of memory that was allocated before, for its reference counts. Making
// the shared_ptr therefore can't fail.
template <class T>
struct PreallocatedAllocator {
  using value_type = T;
  static constexpr size_t bytes = 64;  // Enough in any standard library: two counts and a few pointers.

  explicit PreallocatedAllocator(void* block) : memory(block) {}
  template <class Other>
  PreallocatedAllocator(const PreallocatedAllocator<Other>& other) : memory(other.memory) {}

  T* allocate(size_t) {
    static_assert(sizeof(T) <= bytes);
    return static_cast<T*>(memory);
  }
  void deallocate(T* counts, size_t) { std::free(counts); }
  template <class Other>
  bool operator==(const PreallocatedAllocator<Other>& other) const {
    return memory == other.memory;
  }

  void* memory;
};

// Makes a shared_ptr from `object`. Returns null if there is no memory or if `object` is null.
template <class T>
std::shared_ptr<T> try_share(std::unique_ptr<T> object) {
  if (!object) return nullptr;
  void* memory = std::malloc(PreallocatedAllocator<T>::bytes);
  if (memory == nullptr) return nullptr;
  return std::shared_ptr<T>(object.release(), std::default_delete<T>(), PreallocatedAllocator<T>(memory));
}

}  // namespace LINFORMER_NAMESPACE
