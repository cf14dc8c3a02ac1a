// Reads the bytes of a file or of standard input through one buffer of fixed size. gzip data is inflated, whatever the
// file is called.
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
  // The path "-" is standard input. Throws DataError if the file can't be opened.
  explicit ByteSource(const std::string& path);
  ~ByteSource();
  ByteSource(const ByteSource&) = delete;
  ByteSource& operator=(const ByteSource&) = delete;

  // Returns the name for messages: the path or "standard input".
  const std::string& name() const { return name_; }
  // Sets a function that is called before a read that would have to wait. The function can write finished answers, so
  // that they don't wait for a slow program at the other end of a pipe.
  void on_wait(std::function<void()> hook) { wait_hook_ = std::move(hook); }

  // Return the next byte, or -1 at the end. Throw DataError if reading fails.
  int get() { return position_ < end_ || fill() ? static_cast<unsigned char>(buffer_[position_++]) : -1; }
  int peek() { return position_ < end_ || fill() ? static_cast<unsigned char>(buffer_[position_]) : -1; }
  // Returns whether the bytes begin with `start`, which has at most 64 bytes and no line end. Must be called after
  // expect_text() and before anything is read.
  bool starts_with(std::string_view start) { return peek() >= 0 && buffered().substr(position_).starts_with(start); }
  // Declares that the bytes are UTF-8 text. A byte order mark at the start is then skipped. Reading throws DataError if
  // file_kind() recognises the start as something else, or if a NUL is among the first text_proof_bytes; the message
  // says what the bytes are and what to do. If `or_npy` is true, the bytes may be a NumPy array instead, which is read
  // unchanged. Must be called before anything is read.
  void expect_text(bool or_npy = false);
  static constexpr size_t text_proof_bytes = 1 << 16;

  // Reads the next line without its newline. If it has more than `max_bytes`, the rest of it is skipped and not stored.
  LineResult read_line(std::string* line, size_t max_bytes);
  // Reads up to `count` bytes and returns their number. It is less than `count` only at the end.
  size_t read(char* destination, size_t count);

  // Returns the number of bytes of the stored file that were read, out of file_bytes().
  uint64_t bytes_read() const { return gunzip_ ? file_position_ : file_position_ - (end_ - position_); }
  // Returns the size of a regular file as it is stored, also if it is compressed. Returns 0 for any other input.
  uint64_t file_bytes() const { return file_bytes_; }
  // Returns the number of bytes that can be read in total, or 0 if it is unknown: for a pipe and for compressed data.
  // Must be called after the first read.
  uint64_t content_bytes() const { return gunzip_ ? 0 : file_bytes_; }

 private:
  enum class Expect : uint8_t { anything, text, text_or_npy };
  static constexpr size_t buffer_bytes = 1 << 16;
  bool fill();
  bool read_more();
  size_t read_file(char* destination, size_t count);
  void read_first_bytes();
  void open_gzip();
  bool check_start_of_text();
  void throw_if_nul() const;
  std::string_view buffered() const { return {buffer_.get(), end_}; }

  int fd_ = -1;
  std::string name_;
  uint64_t file_bytes_ = 0, file_position_ = 0;
  uint64_t content_end_ = 0;  // The offset of the buffer's end in the uncompressed content.
  size_t position_ = 0, end_ = 0;
  bool at_end_ = false;
  Expect expect_ = Expect::anything;
  std::unique_ptr<char[]> buffer_;
  std::unique_ptr<Gunzip> gunzip_;
  std::function<void()> wait_hook_;
};

}  // namespace linformer::cli
