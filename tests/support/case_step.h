// Chooses how many cases of a long series run.
#pragma once

#include <cstddef>
#include <cstdlib>

namespace linformer_test {

// A test with a long series of cases runs every n-th one, and this function returns n. In a build with sanitizers n is
// `sanitized`: there fewer cases are enough, because builds without sanitizers check the same answers. In other builds
// n is `plain`, and 1 means that all cases run. If the variable LINFORMER_EXHAUSTIVE is set, n is 1 in every build; the
// subjects `hostile` and `sanitized` of tests/long.sh set it.
inline size_t case_step(size_t sanitized, size_t plain = 1) {
  if (std::getenv("LINFORMER_EXHAUSTIVE") != nullptr) return 1;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  (void)plain;
  return sanitized;
#else
  (void)sanitized;
  return plain;
#endif
}

}  // namespace linformer_test
