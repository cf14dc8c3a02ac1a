// Conversions between UTF-8 and the UTF-16 that Windows uses. Only files that are compiled for Windows include this.
#pragma once

#include <string>
#include <string_view>

namespace linformer::files {

// Returns the UTF-8 text as UTF-16. Invalid bytes become U+FFFD, so a path that contains them names no existing file.
std::wstring wide(std::string_view utf8);
// Returns the UTF-16 text as UTF-8.
std::string narrow(std::wstring_view utf16);
// Sets errno from GetLastError(), for the sentences that std::strerror() makes.
void set_errno_from_last_error();

}  // namespace linformer::files
