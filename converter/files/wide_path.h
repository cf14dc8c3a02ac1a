// Paths as Windows takes them; only what is compiled for Windows includes this.
#pragma once

#include <string>
#include <string_view>

namespace linformer::files {

// UTF-16 of a text in UTF-8. Bytes that are no UTF-8 become U+FFFD, which is in the name of no file that is meant.
std::wstring wide(std::string_view utf8);
// UTF-8 of a text in UTF-16.
std::string narrow(std::wstring_view utf16);
// Sets errno from GetLastError(), for the sentences that std::strerror() makes.
void set_errno();

}  // namespace linformer::files
