// A JSON file with settings.
#pragma once

#include <string>

#include "converter/readers/value.h"

namespace linformer::convert {

// Throws Error when the file is missing, larger than any such file is, or no JSON. `may_be_pipe`: the user named it, and
// shells name pipes too, as in `--config <(...)`; where a folder has one it would be waited for without end.
Value read_json_file(const std::string& path, ValueStore& store, bool may_be_pipe = false);

}  // namespace linformer::convert
