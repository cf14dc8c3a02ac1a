// Shared libraries of Windows; a file of its own, as that of POSIX.
#define WIN32_LEAN_AND_MEAN
#include <windows.h>

#include <cwchar>

#include "base/platform.h"
#include "base/platform_windows_path.h"

namespace LINFORMER_NAMESPACE::platform {

void* open_library(const char* file) {
  WidePath wide;
  if (!wide.set(file)) return nullptr;
  // A path's own folder is searched for what the library needs; the current folder, where anyone may put a library of
  // the same name, never is.
  const bool has_folder = std::wcspbrk(wide.text, L"/\\") != nullptr;
  const DWORD places = LOAD_LIBRARY_SEARCH_DEFAULT_DIRS | (has_folder ? LOAD_LIBRARY_SEARCH_DLL_LOAD_DIR : 0u);
  return reinterpret_cast<void*>(::LoadLibraryExW(wide.text, nullptr, places));
}

// The system says it in words that would need memory beyond this call.
const char* open_library_error() { return nullptr; }

void* find_symbol(void* library, const char* name) {
  return reinterpret_cast<void*>(::GetProcAddress(static_cast<HMODULE>(library), name));
}

}  // namespace LINFORMER_NAMESPACE::platform
