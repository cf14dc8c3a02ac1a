#pragma once

#include <stdexcept>
#include <string>

namespace linformer::files {

// An error in writing a file. The message is one sentence that names the path and the reason. code() is the value of
// errno, or 0 if the error is not the system's. EPIPE means that the reader of a pipe has closed it.
class WriteError : public std::runtime_error {
 public:
  explicit WriteError(const std::string& sentence, int error_code = 0)
      : std::runtime_error(sentence), code_(error_code) {}
  int code() const { return code_; }

 private:
  int code_;
};

}  // namespace linformer::files
