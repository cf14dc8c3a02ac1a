// What is wrong with an input or a setting, as one sentence that names the thing and the next step.
#pragma once

#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>

namespace linformer::convert {

// The converter's only exception. what() is the sentence that the program prints before it exits with 1.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

template <class... Parts>
[[noreturn]] void fail(const Parts&... parts) {
  std::ostringstream sentence;
  (sentence << ... << parts);
  throw Error(sentence.str());
}

// A name from a file, fit for a terminal: control and non-ASCII bytes as \xNN, long names cut; quote() in quotes.
std::string escaped(std::string_view name);
std::string quote(std::string_view name);

// True when `text` is well-formed UTF-8.
bool valid_utf8(std::string_view text);

}  // namespace linformer::convert
