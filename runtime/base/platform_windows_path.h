// UTF-16 paths, which Windows expects. Only base/platform_windows*.cc include this.
#pragma once

#include "linformer/version.h"

namespace LINFORMER_NAMESPACE::platform {

// The UTF-16 form of a path in UTF-8. The array has room for the longest path that Windows accepts.
struct WidePath {
  wchar_t text[1 << 15];

  // Returns false if `path` isn't UTF-8 or is too long; GetLastError() tells which.
  bool set(const char* path);
};

}  // namespace LINFORMER_NAMESPACE::platform
