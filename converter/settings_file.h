// Reads JSON files with settings.
#pragma once

#include <string>

#include "converter/readers/value.h"

namespace linformer::convert {

// Reads a JSON file into `store` and returns its value. Throws Error if the file is missing, larger than 16 MiB or not
// JSON. If `may_be_pipe` is true, the path may also be a pipe or a character device: shells pass pipes as paths, as in
// `--config <(...)`. It must be false for files that are looked up in a folder, because a pipe there would block the
// converter until somebody writes to it.
Value read_json_file(const std::string& path, ValueStore& store, bool may_be_pipe = false);

}  // namespace linformer::convert
