// A process for each case, so that one's memory peak and library state don't touch the next one's.
#pragma once

#include "bench/measure.h"

namespace linformer::bench {

// The option that makes this program measure one case and print it as JSON.
inline constexpr char case_option[] = "--case";

// Runs this program again for `what`. Throws std::runtime_error with the child's sentence when it fails.
Measurement measure_in_child(const Case& what);

// The child's side: prints {"measurement"} or {"error"} on standard output; returns the exit code.
int run_case(const std::string& json);

}  // namespace linformer::bench
