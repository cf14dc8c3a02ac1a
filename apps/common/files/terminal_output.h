// Recognises outputs whose bytes would be shown by a terminal.
#pragma once

#include <string>

namespace linformer::files {

// Whether the bytes of the output `path` would go to standard output and that is a terminal: no place for the bytes of
// an array. Never throws.
bool is_terminal(const std::string& path);

}  // namespace linformer::files
