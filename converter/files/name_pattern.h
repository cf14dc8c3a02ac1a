// Patterns of names, as in a shell. name_pattern_posix.cc and name_pattern_windows.cc implement them.
#pragma once

#include <string>

namespace linformer::files {

// Whether the whole `name` fits: * stands for any characters, ? for one, [...] for one of those or, after !, for
// another. A backslash takes the next character's meaning.
bool fits_pattern(const std::string& pattern, const std::string& name);

}  // namespace linformer::files
