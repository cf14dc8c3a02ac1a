#include "base/shared_library.h"

#include <cinttypes>

#include "base/platform.h"

namespace LINFORMER_NAMESPACE {

Result<void*> open_library(const LibraryNames& names) {
  for (const char* file : names.files) {
    if (file == nullptr) continue;
    if (void* handle = platform::open_library(file); handle != nullptr) return handle;
  }
  const char* reason = platform::open_library_error();  // For the last file.
  return Status::error(Code::io_error, "%s can't be opened (%.200s): install %s", names.library,
                       reason != nullptr ? reason : "no reason is known", names.package);
}

Status find_function(void* handle, const LibraryNames& names, const char* name, void** function) {
  *function = platform::find_symbol(handle, name);
  if (*function != nullptr) return {};
  return Status::error(Code::unsupported, "this machine's %s has no function %s: install %s", names.library, name,
                       names.package);
}

Status check_address_space(const LibraryNames& names, uint64_t needed) {
  if (platform::has_address_space(needed)) return {};
  return Status::error(Code::out_of_memory,
                       "the limit of address space (ulimit -v) denies the %" PRIu64 " MB that %s may map: raise it",
                       needed >> 20, names.library);
}

Status add_native_backend_advice(const Status& error) {
  return Status::error(error.code(), "%s, or use the native backend", error.message());
}

}  // namespace LINFORMER_NAMESPACE
