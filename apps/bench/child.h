// A process for each case, so that one's memory peak and library state don't touch the next one's.
#pragma once

#include "bench/measure.h"

namespace linformer::bench {

// Runs this program again, as `bench --case JSON MODEL`. Throws std::runtime_error with the child's sentence when it
// fails.
Measurement measure_in_child(const Case& what);

// The child's side: prints {"measurement"} or {"error"} on standard output; returns the exit code.
int run_case(const std::string& json, const std::string& model, const DescribeProfile& describe_profile);

}  // namespace linformer::bench
