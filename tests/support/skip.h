// A case that can't run here says so; ctest then reports its entry as skipped, not as passed.
#pragma once

#include <string>

namespace linformer_test {

// What doctest_main.cc returns where a case was skipped and none failed; ctest's SKIP_RETURN_CODE.
constexpr int skip_exit_code = 77;

// Prints "skipped: WHAT" and makes the program's exit code skip_exit_code, unless a case fails.
void skip(const std::string& what);

}  // namespace linformer_test
