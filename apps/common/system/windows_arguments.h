// Quotes arguments for programs that are started on Windows. Only files that are compiled for Windows include this.
#pragma once

#include <string>

namespace linformer::system {

// Appends `argument` to the command line `line`, with quotes. On Windows a program gets its command line as one string
// and splits it itself; the quoting follows the rules of CommandLineToArgvW().
void append_quoted_argument(const std::wstring& argument, std::wstring* line);

}  // namespace linformer::system
