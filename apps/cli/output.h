// Where results go: standard output, and files that appear only when they are whole.
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

// A file written under a temporary name beside its own, synced and renamed by commit(); without commit() nothing stays
// behind, neither after SIGINT and SIGTERM. "-" is standard output; devices and pipes are written to directly.
// One at a time in a process (the signal handler knows one name).
class AtomicFile {
 public:
  explicit AtomicFile(const std::string& path);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(const void* bytes, size_t count);
  // Overwrites bytes at the start, after everything else. Only where seekable() is true.
  void rewrite_start(std::string_view bytes);
  bool seekable() const { return !temporary_.empty(); }
  void commit();

 private:
  std::string path_, temporary_;
  int fd_ = -1;
};

}  // namespace linformer::cli
