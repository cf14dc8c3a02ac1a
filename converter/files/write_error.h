#pragma once

#include <stdexcept>
#include <string>

namespace linformer::files {

// One sentence that names the path and the reason. `code` is errno's value, 0 where the system said nothing; EPIPE:
// the reader of our output went away.
class WriteError : public std::runtime_error {
 public:
  explicit WriteError(const std::string& sentence, int error_code = 0)
      : std::runtime_error(sentence), code_(error_code) {}
  int code() const { return code_; }

 private:
  int code_;
};

}  // namespace linformer::files
