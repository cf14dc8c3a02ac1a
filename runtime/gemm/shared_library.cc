#include "gemm/shared_library.h"

#include <dlfcn.h>

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

Status or_use_native(const Status& error) {
  return Status::error(error.code(), "%s, or use the native backend", error.message());
}

}  // namespace linformer
