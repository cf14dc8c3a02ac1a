#include "base/memory.h"

#include <new>

namespace linformer {

bool memory_available(uint64_t bytes) {
  if (bytes > SIZE_MAX) return false;
  void* memory = ::operator new(static_cast<size_t>(bytes), std::nothrow);
  ::operator delete(memory);
  return memory != nullptr;
}

}  // namespace linformer
