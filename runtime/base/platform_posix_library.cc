// Shared libraries on POSIX. They have a file of their own, so that builds without backends don't need the system's
// loader.
#include <dlfcn.h>

#include "base/platform.h"

namespace LINFORMER_NAMESPACE::platform {

void* open_library(const char* file) { return ::dlopen(file, RTLD_NOW | RTLD_LOCAL); }

const char* open_library_error() { return ::dlerror(); }

void* find_symbol(void* library, const char* name) { return ::dlsym(library, name); }

}  // namespace LINFORMER_NAMESPACE::platform
