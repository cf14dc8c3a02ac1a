// std::shared_ptr for code without exceptions.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <memory>

#include "linformer/version.h"

namespace LINFORMER_NAMESPACE {

// Gives a shared_ptr the memory for its counts, which was there before it was made: so making it can't fail.
template <class T>
struct CountsMemory {
  using value_type = T;
  static constexpr size_t bytes = 64;  // two counts and a few pointers in any library

  explicit CountsMemory(void* given) : memory(given) {}
  template <class Other>
  CountsMemory(const CountsMemory<Other>& other) : memory(other.memory) {}

  T* allocate(size_t) {
    static_assert(sizeof(T) <= bytes);
    return static_cast<T*>(memory);
  }
  void deallocate(T* counts, size_t) { std::free(counts); }
  template <class Other>
  bool operator==(const CountsMemory<Other>& other) const {
    return memory == other.memory;
  }

  void* memory;
};

// Null where there is no memory, or where `object` is.
template <class T>
std::shared_ptr<T> try_share(std::unique_ptr<T> object) {
  if (!object) return nullptr;
  void* memory = std::malloc(CountsMemory<T>::bytes);
  if (memory == nullptr) return nullptr;
  return std::shared_ptr<T>(object.release(), std::default_delete<T>(), CountsMemory<T>(memory));
}

}  // namespace LINFORMER_NAMESPACE
