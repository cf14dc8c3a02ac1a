// How much of a long series of cases runs.
#pragma once

#include <cstddef>
#include <cstdlib>

namespace linformer_test {

// Returns n if one case of each n cases runs: `part` under sanitizers, and `plain` without them, where 1 is all cases.
// The other presets check the answers, and the sanitizers add a check of memory accesses and threads only. The subjects
// `hostile` and `sanitized` of tests/long.sh set LINFORMER_EXHAUSTIVE, which makes all cases run everywhere.
inline size_t part_under_sanitizers(size_t part, size_t plain = 1) {
  if (std::getenv("LINFORMER_EXHAUSTIVE") != nullptr) return 1;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  (void)plain;
  return part;
#else
  (void)part;
  return plain;
#endif
}

}  // namespace linformer_test
