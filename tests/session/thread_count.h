#pragma once

#include <cstdint>

namespace linformer_test {

// Returns the number of threads of this process.
int64_t threads_of_process();

}  // namespace linformer_test
