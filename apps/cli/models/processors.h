// The number of processors, which is the default number of threads.
#pragma once

#include <string>

namespace linformer::cli {

// Returns the number of processors that this process may use, at least 1. It is the number in the affinity mask, or the
// CPU quota of the process's control group or a group above it (rounded up) if that is smaller. `root` is the folder
// with proc/self/cgroup and sys/fs/cgroup.
int processors(const std::string& root = "/");

}  // namespace linformer::cli
