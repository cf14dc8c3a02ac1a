// Maps pages of memory that are followed by a page which can't be read or written.
#pragma once

#include <cstddef>
#include <cstdlib>

#ifdef _WIN32
#define WIN32_LEAN_AND_MEAN
#define NOMINMAX
#include <windows.h>
#else
#include <sys/mman.h>
#include <unistd.h>
#endif

namespace linformer_test {

inline size_t page_bytes() {
#ifdef _WIN32
  SYSTEM_INFO facts;
  ::GetSystemInfo(&facts);
  return facts.dwPageSize;
#else
  return static_cast<size_t>(::sysconf(_SC_PAGESIZE));
#endif
}

// Maps `bytes`, a multiple of page_bytes(), and one more page that can't be read or written. Returns the first byte.
inline char* map_guarded(size_t bytes) {
  const size_t page = page_bytes();
#ifdef _WIN32
  void* const mapping = ::VirtualAlloc(nullptr, bytes + page, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE);
  DWORD before = 0;
  if (mapping == nullptr || ::VirtualProtect(static_cast<char*>(mapping) + bytes, page, PAGE_NOACCESS, &before) == 0)
    std::abort();
#else
  void* const mapping = ::mmap(nullptr, bytes + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapping == MAP_FAILED || ::mprotect(static_cast<char*>(mapping) + bytes, page, PROT_NONE) != 0) std::abort();
#endif
  return static_cast<char*>(mapping);
}

inline void unmap_guarded(char* mapping, size_t bytes) {
#ifdef _WIN32
  static_cast<void>(bytes);
  ::VirtualFree(mapping, 0, MEM_RELEASE);
#else
  ::munmap(mapping, bytes + page_bytes());
#endif
}

}  // namespace linformer_test
