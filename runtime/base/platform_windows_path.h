// UTF-16 paths, which Windows expects. Only base/platform_windows*.cc include this.
#pragma once

#include "linformer/version.h"

namespace LINFORMER_NAMESPACE::platform {

// UTF-16 of a path in UTF-8, in place: the longest path that Windows takes fits.
struct WidePath {
  wchar_t text[1 << 15];

  // False where `path` is no UTF-8 or too long; GetLastError() says which.
  bool set(const char* path);
};

}  // namespace LINFORMER_NAMESPACE::platform
