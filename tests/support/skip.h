// Reports a test case that can't run here. ctest then shows its entry as skipped, not as passed.
#pragma once

#include <string>

namespace linformer_test {

// The exit code of doctest_main.cc if a case was skipped and none failed. It is ctest's SKIP_RETURN_CODE.
constexpr int skip_exit_code = 77;

// Prints "skipped: WHAT" and makes the program's exit code skip_exit_code, unless a case fails.
void skip(const std::string& what);

}  // namespace linformer_test
