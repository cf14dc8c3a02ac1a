// Standard output. Files are written with files/atomic_file.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace linformer::cli {

// Buffered bytes to a descriptor. Throws OutputClosed when its reader went away and DataError on any other failure.
class Output {
 public:
  Output(int fd, std::string name) : fd_(fd), name_(std::move(name)) {}
  void write(std::string_view bytes);
  void flush();
  int fd() const { return fd_; }

 private:
  int fd_;
  std::string name_;
  std::string buffer_;
};

Output& standard_output();

}  // namespace linformer::cli
