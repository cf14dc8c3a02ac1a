// Standard output, and what no output may be. Files are written with files/atomic_file.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "files/endings.h"

namespace linformer::cli {

// Buffered bytes to a descriptor. Throws OutputClosed when its reader went away and DataError on any other failure.
class OutputStream {
 public:
  OutputStream(int fd, std::string name) : fd_(fd), name_(std::move(name)) {}
  void write(std::string_view bytes);
  void flush();
  int fd() const { return fd_; }

 private:
  int fd_;
  std::string name_;
  std::string buffer_;
};

OutputStream& standard_output();

// An option that names an output, its value ("" where it was not given), and what is written there.
struct NamedOutput {
  std::string option, path;
  files::FileFormat format;
  std::string otherwise = {};  // advice on how to get another format; empty: there is none
};

// Throws UsageError where one of `outputs`, or standard output, is a file that the command reads, where two of
// `outputs` are one file, since one would be lost, and where an output's ending stands for another format.
void check_outputs(const std::vector<std::string>& read, const std::vector<NamedOutput>& outputs);

}  // namespace linformer::cli
