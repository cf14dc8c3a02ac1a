// Patterns for the names of tensors, written like a shell's patterns for file names. name_pattern_posix.cc and
// name_pattern_windows.cc implement them.
#pragma once

#include <string>

namespace linformer::files {

// Returns whether the pattern fits the whole name. * stands for any characters and ? for one character. [...] stands
// for one of the characters in the brackets, and [!...] for one that is not in them. A character after a backslash
// stands for itself.
bool fits_pattern(const std::string& pattern, const std::string& name);

}  // namespace linformer::files
