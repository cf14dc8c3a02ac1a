// How much of a long series of cases runs.
#pragma once

#include <cstddef>
#include <cstdlib>

namespace linformer_test {

// 1, or `part` under sanitizers: then one case in `part` runs. What the library answers is the same in every build,
// which other presets check for all cases; sanitizers look at how it reads memory. `tests/long.sh hostile` sets the
// variable, with which all cases run under sanitizers too.
inline size_t part_under_sanitizers(size_t part) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return std::getenv("LINFORMER_EXHAUSTIVE") == nullptr ? part : 1;
#else
  (void)part;
  return 1;
#endif
}

}  // namespace linformer_test
