#pragma once

#include <cstdint>

namespace linformer_test {

// How many threads this process has.
int64_t threads_of_process();

}  // namespace linformer_test
