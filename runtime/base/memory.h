// Asking whether there is memory, for containers that cannot say it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace linformer {

// Whether the system gives `bytes` in one piece now; they are given back at once. std::vector, std::string and
// std::shared_ptr know only an exception for the want of memory, which without exceptions is the process's end.
bool memory_available(uint64_t bytes);

// False where there is no memory: the vector is then unchanged.
template <class T>
[[nodiscard]] bool resize(std::vector<T>* vector, size_t size) {
  if (size > vector->capacity() && (size > SIZE_MAX / sizeof(T) || !memory_available(size * sizeof(T)))) return false;
  vector->reserve(size);
  vector->resize(size);
  return true;
}

}  // namespace linformer
