// How many threads are worth starting.
#pragma once

#include <string>

namespace linformer::cli {

// Processors that this process may use: those of its affinity, or fewer where its control group or one above it has a
// CPU quota (rounded up). At least 1. `root`: the folder with proc/self/cgroup and sys/fs/cgroup.
int processors(const std::string& root = "/");

}  // namespace linformer::cli
