// Recognises outputs that are a terminal, so that programs can refuse to write binary data to them.
#pragma once

#include <string>

namespace linformer::files {

// Returns whether `path` is standard output and standard output is a terminal. Never throws.
bool is_terminal(const std::string& path);

}  // namespace linformer::files
