// Bytes of a file or of standard input, read through one fixed buffer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace linformer::cli {

enum class LineResult { line, too_long, end };

class ByteSource {
 public:
  // "-" is standard input. Throws DataError when the file can't be opened.
  explicit ByteSource(const std::string& path);
  ~ByteSource();
  ByteSource(const ByteSource&) = delete;
  ByteSource& operator=(const ByteSource&) = delete;

  // The name for messages: the path or "standard input".
  const std::string& name() const { return name_; }
  // Called before a read that would have to wait, so that finished work isn't held back by a slow writer.
  void on_wait(std::function<void()> hook) { wait_hook_ = std::move(hook); }

  // The next byte, or -1 at the end. Throws DataError when the system refuses.
  int get() { return position_ < end_ || fill() ? static_cast<unsigned char>(buffer_[position_++]) : -1; }
  int peek() { return position_ < end_ || fill() ? static_cast<unsigned char>(buffer_[position_]) : -1; }
  // The bytes are UTF-8 text: leaves out a byte order mark at the start, and throws DataError at the first read of gzip
  // or UTF-16. Call before anything is read.
  void expect_text() { expects_text_ = true; }

  // The next line without its newline. Beyond `max_bytes` the rest of the line is skipped unstored.
  LineResult read_line(std::string* line, size_t max_bytes);
  // Up to `count` bytes; fewer only at the end.
  size_t read(char* destination, size_t count);

  uint64_t bytes_read() const { return total_ - (end_ - position_); }
  // The size of a regular file; 0 for anything else.
  uint64_t file_bytes() const { return file_bytes_; }

 private:
  static constexpr size_t buffer_bytes = 1 << 16;
  bool fill();
  bool read_more();
  void refuse_other_encodings(std::string_view start) const;

  int fd_ = -1;
  std::string name_;
  uint64_t file_bytes_ = 0;
  uint64_t total_ = 0;
  size_t position_ = 0, end_ = 0;
  bool at_end_ = false, expects_text_ = false;
  std::unique_ptr<char[]> buffer_;
  std::function<void()> wait_hook_;
};

}  // namespace linformer::cli
