// Checks that command lines are refused.
#pragma once

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "process.h"

namespace linformer_test {

// Checks that the program ends with exit code `code`, prints no answers, and prints one line with `part` to standard
// error.
inline void check_refused(const std::vector<std::string>& arguments, int code, const std::string& part) {
  const Ran ran = run(arguments);
  CAPTURE(ran.err);
  CHECK(ran.code == code);
  CHECK(ran.out == "");
  CHECK(lines_of(ran.err).size() == 1);
  CHECK(ran.err.find(part) != std::string::npos);
}

}  // namespace linformer_test
