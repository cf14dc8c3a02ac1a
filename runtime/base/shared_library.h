// The library of a backend, opened when the backend is first asked for: its constructors run in no other process, and
// none needs it. Never closed, since its threads and buffers live on.
#pragma once

#include <cstdint>
#include <mutex>

#include "linformer/status.h"
#include "linformer/version.h"

namespace LINFORMER_NAMESPACE {

// What a backend's library is called, for the system and for people.
struct LibraryNames {
  const char* library;   // for the sentences: OpenBLAS
  const char* package;   // what to install
  const char* files[2];  // in the order in which they are tried; null: none
};

// io_error, with the reason of the last file and what to install.
Result<void*> open_library(const LibraryNames& names);
// unsupported where the library has no such function.
Status find_function(void* handle, const LibraryNames& names, const char* name, void** function);

// find_function() for a pointer of the right type.
template <class Function>
Status find_function(void* handle, const LibraryNames& names, const char* name, Function** function) {
  void* found = nullptr;
  LINFORMER_TRY(find_function(handle, names, name, &found));
  *function = reinterpret_cast<Function*>(found);
  return {};
}

// out_of_memory where the process has a limit of address space (ulimit -v) that leaves less than so many bytes: for
// libraries that wait for ever, or end the process, where memory is denied.
Status check_address_space(const LibraryNames& names, uint64_t needed);
// What a session's thread takes besides: its stack, and what the C library's allocator reserves for it.
inline constexpr uint64_t thread_address_space = uint64_t{128} << 20;

// An error of the above, for who asked for a backend.
Status or_use_native(const Status& error);

// A table of functions that is filled once, from whichever thread asks first. A failure is tried again by the next.
template <class Table>
class OpenedOnce {
 public:
  Result<const Table*> get(Status (*open)(Table*)) {
    const std::lock_guard lock(mutex_);
    if (!is_open_) LINFORMER_TRY(open(&table_));
    is_open_ = true;
    return &table_;
  }
  // Only after a get() that succeeded.
  const Table& table() const { return table_; }

 private:
  std::mutex mutex_;
  bool is_open_ = false;
  Table table_;
};

}  // namespace LINFORMER_NAMESPACE
