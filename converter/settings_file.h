// A JSON file with settings.
#pragma once

#include <string>

#include "converter/readers/value.h"

namespace linformer::convert {

// Throws Error when the file is missing, larger than any such file is, or no JSON. `may_be_pipe` is for a path that the
// user gave, because shells pass pipes as paths, as in `--config <(...)`. A pipe in a folder is refused: nobody may
// ever write to it.
Value read_json_file(const std::string& path, ValueStore& store, bool may_be_pipe = false);

}  // namespace linformer::convert
