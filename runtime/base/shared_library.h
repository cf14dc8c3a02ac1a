// Opens the shared library of a backend when the backend is first used. Processes that don't use the backend don't need
// the library, and its constructors don't run there. A library is never closed, since its threads may still run and its
// buffers may still be in use.
#pragma once

#include <cstdint>
#include <mutex>

#include "linformer/status.h"
#include "linformer/version.h"

namespace LINFORMER_NAMESPACE {

// The names of a backend's library, for the system and for errors.
struct LibraryNames {
  const char* library;   // The name in errors, such as OpenBLAS.
  const char* package;   // The package that an error tells the user to install.
  const char* files[2];  // The names of files, in the order in which they are tried. Null entries are skipped.
};

// Tries the files in their order, and returns the handle of the first one that can be opened. If none can be opened, it
// returns io_error. The message has the system's error for the last file, and names the package to install.
Result<void*> open_library(const LibraryNames& names);
// Returns an error (unsupported) if the library has no such function.
Status find_function(void* handle, const LibraryNames& names, const char* name, void** function);

// Finds a function and converts the pointer to the function's type.
template <class Function>
Status find_function(void* handle, const LibraryNames& names, const char* name, Function** function) {
  void* found = nullptr;
  LINFORMER_TRY(find_function(handle, names, name, &found));
  *function = reinterpret_cast<Function*>(found);
  return {};
}

// Returns out_of_memory if a limit of the process's address space (ulimit -v) leaves less than `needed` bytes. Some
// libraries wait for ever, or end the process, if they get no memory.
Status check_address_space(const LibraryNames& names, uint64_t needed);
// The address space that each thread of a session takes in addition: its stack, and what the C library's allocator
// reserves for the thread.
inline constexpr uint64_t thread_address_space = uint64_t{128} << 20;

// Adds the advice to use the native backend to an error of the functions above.
Status add_native_backend_advice(const Status& error);

// A table of functions that the first call of get() fills, in whichever thread it is made. If filling the table fails,
// the next call tries again. Thread-safe.
template <class Table>
class OpenedOnce {
 public:
  Result<const Table*> get(Status (*open)(Table*)) {
    const std::lock_guard lock(mutex_);
    if (!is_open_) LINFORMER_TRY(open(&table_));
    is_open_ = true;
    return &table_;
  }
  // May be called only after get() has succeeded.
  const Table& table() const { return table_; }

 private:
  std::mutex mutex_;
  bool is_open_ = false;
  Table table_;
};

}  // namespace LINFORMER_NAMESPACE
