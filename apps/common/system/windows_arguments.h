// What programs are started with on Windows; only what is compiled for it includes this.
#pragma once

#include <string>

namespace linformer::system {

// Adds an argument to a command line, which is one string there: the program's own start splits it, by the rules that
// this quoting is for.
void append_argument(const std::wstring& argument, std::wstring* line);

}  // namespace linformer::system
