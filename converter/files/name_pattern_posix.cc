#include <fnmatch.h>

#include "converter/files/name_pattern.h"

namespace linformer::files {

bool fits_pattern(const std::string& pattern, const std::string& name) {
  return ::fnmatch(pattern.c_str(), name.c_str(), 0) == 0;
}

}  // namespace linformer::files
