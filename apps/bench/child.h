// Measures each case in its own process, so that the peak memory and the state of libraries don't affect the next case.
#pragma once

#include "bench/measure.h"

namespace linformer::bench {

// Runs this program again as a child, with the arguments `bench --case JSON MODEL`. If the child fails, throws
// std::runtime_error with the child's error.
Measurement measure_in_child(const Case& what);

// Measures a case in the child. Prints an object with "measurement" or "error" on standard output. Returns the exit
// code.
int run_case(const std::string& json, const std::string& model, const DescribeProfile& describe_profile);

}  // namespace linformer::bench
