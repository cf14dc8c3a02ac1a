// Functions that make the messages of errors.
#pragma once

#include <sstream>
#include <string>
#include <string_view>

#include "linformer/convert.h"

namespace linformer::convert {

// Throws Error with the concatenated parts as its message: one sentence that names the thing that is wrong and the next
// step.
template <class... Parts>
[[noreturn]] void fail(const Parts&... parts) {
  std::ostringstream sentence;
  (sentence << ... << parts);
  throw Error(sentence.str());
}

// Returns the sentence with each control character, line feeds included, replaced by \x and its two hex digits.
std::string escape_control_chars(std::string_view sentence);

// Returns whether `text` is well-formed UTF-8.
bool valid_utf8(std::string_view text);

}  // namespace linformer::convert
