// Bytes of a file or of standard input, read through one fixed buffer. gzip is inflated on the way, whatever the name.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "input/bytes/gunzip.h"

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
  // Whether the bytes begin with `start`, of 64 bytes at most, which does not go beyond a line. To be asked before
  // anything is read, and after expect_text().
  bool starts_with(std::string_view start) { return peek() >= 0 && buffered().substr(position_).starts_with(start); }
  // The bytes are UTF-8 text: a byte order mark at the start is left out. Reading throws DataError, which says what the
  // bytes are and what to do, where file_kind() knows their start, or a NUL is among the first text_proof_bytes. Call
  // before anything is read. `or_npy`: may be a NumPy array instead, which is read as it is.
  void expect_text(bool or_npy = false);
  static constexpr size_t text_proof_bytes = 1 << 16;

  // The next line without its newline. Beyond `max_bytes` the rest of the line is skipped unstored.
  LineResult read_line(std::string* line, size_t max_bytes);
  // Up to `count` bytes; fewer only at the end.
  size_t read(char* destination, size_t count);

  // How far reading is, of file_bytes().
  uint64_t bytes_read() const { return gunzip_ ? file_position_ : file_position_ - (end_ - position_); }
  // The size of a regular file, compressed where it is; 0 for anything else.
  uint64_t file_bytes() const { return file_bytes_; }
  // The number of bytes that can be read in all, where that is known before: 0 for a pipe and compressed data. To be
  // asked after the first read.
  uint64_t content_bytes() const { return gunzip_ ? 0 : file_bytes_; }

 private:
  enum class Expect : uint8_t { anything, text, text_or_npy };
  static constexpr size_t buffer_bytes = 1 << 16;
  bool fill();
  bool read_more();
  size_t read_file(char* destination, size_t count);
  void await_start();
  void open_gzip();
  bool start_text();
  void refuse_nul() const;
  std::string_view buffered() const { return {buffer_.get(), end_}; }

  int fd_ = -1;
  std::string name_;
  uint64_t file_bytes_ = 0, file_position_ = 0;
  uint64_t content_end_ = 0;  // offset of the buffer's end in the content
  size_t position_ = 0, end_ = 0;
  bool at_end_ = false;
  Expect expect_ = Expect::anything;
  std::unique_ptr<char[]> buffer_;
  std::unique_ptr<Gunzip> gunzip_;
  std::function<void()> wait_hook_;
};

}  // namespace linformer::cli
