#include "base/shared_library.h"

#include <dlfcn.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include <algorithm>
#include <cinttypes>

namespace linformer {

Result<void*> open_library(const LibraryNames& names) {
  for (const char* file : names.files) {
    if (file == nullptr) continue;
    // RTLD_LOCAL: the library's symbols replace none of the process's own.
    if (void* handle = dlopen(file, RTLD_NOW | RTLD_LOCAL); handle != nullptr) return handle;
  }
  const char* reason = dlerror();  // of the last file
  return Status::error(Code::io_error, "%s can't be opened (%.200s): install %s", names.library,
                       reason != nullptr ? reason : "no reason is known", names.package);
}

Status find_function(void* handle, const LibraryNames& names, const char* name, void** function) {
  *function = dlsym(handle, name);
  if (*function != nullptr) return {};
  return Status::error(Code::unsupported, "this machine's %s has no function %s: install %s", names.library, name,
                       names.package);
}

Status check_address_space(const LibraryNames& names, uint64_t needed) {
  rlimit limit;
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return {};
  const size_t bytes = static_cast<size_t>(std::min<uint64_t>(needed, SIZE_MAX));
  void* space = mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (space == MAP_FAILED) {
    return Status::error(Code::out_of_memory,
                         "the limit of address space (ulimit -v) denies the %" PRIu64 " MB that %s may map: raise it",
                         needed >> 20, names.library);
  }
  munmap(space, bytes);
  return {};
}

Status or_use_native(const Status& error) {
  return Status::error(error.code(), "%s, or use the native backend", error.message());
}

}  // namespace linformer
