// A JSON file with settings.
#pragma once

#include <string>

#include "converter/readers/value.h"

namespace linformer::convert {

// Throws Error when the file is missing, larger than any such file is, or no JSON.
Value read_json_file(const std::string& path, ValueStore& store);

}  // namespace linformer::convert
