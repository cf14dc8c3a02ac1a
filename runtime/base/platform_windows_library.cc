// Shared libraries on Windows. They have a file of their own, as on POSIX.
#define WIN32_LEAN_AND_MEAN
#include <windows.h>

#include <cwchar>

#include "base/platform.h"
#include "base/platform_windows_path.h"

namespace LINFORMER_NAMESPACE::platform {

void* open_library(const char* file) {
  WidePath wide;
  if (!wide.set(file)) return nullptr;
  // If `file` has a folder, this folder is searched for the libraries that the library needs. The current folder is
  // never searched, because anyone may put a library of the same name there.
  const bool has_folder = std::wcspbrk(wide.text, L"/\\") != nullptr;
  const DWORD places = LOAD_LIBRARY_SEARCH_DEFAULT_DIRS | (has_folder ? LOAD_LIBRARY_SEARCH_DLL_LOAD_DIR : 0u);
  return reinterpret_cast<void*>(::LoadLibraryExW(wide.text, nullptr, places));
}

// Returns null: the system's message would need memory that lives longer than this call.
const char* open_library_error() { return nullptr; }

void* find_symbol(void* library, const char* name) {
  return reinterpret_cast<void*>(::GetProcAddress(static_cast<HMODULE>(library), name));
}

}  // namespace LINFORMER_NAMESPACE::platform
