// How much of a long series of cases runs.
#pragma once

#include <cstddef>
#include <cstdlib>

namespace linformer_test {

// Returns 1 if all cases run. Under sanitizers it returns `part`, and then one case of each `part` cases runs: the
// other presets check all answers, and the sanitizers add a check of memory accesses and threads only. The subjects
// `hostile` and `sanitized` of tests/long.sh set LINFORMER_EXHAUSTIVE, which makes all cases run under sanitizers too.
inline size_t part_under_sanitizers(size_t part) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return std::getenv("LINFORMER_EXHAUSTIVE") == nullptr ? part : 1;
#else
  (void)part;
  return 1;
#endif
}

}  // namespace linformer_test
