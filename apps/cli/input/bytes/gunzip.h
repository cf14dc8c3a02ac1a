// gzip data inflated as it is read, through zlib: 32 KiB of history and a buffer, whatever it becomes.
#pragma once

#include <zlib.h>

#include <array>
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

namespace linformer::cli {

class Gunzip {
 public:
  // Bytes of the compressed file; 0 at its end.
  using Read = std::function<size_t(char* destination, size_t count)>;

  // `name` is for messages; `start`: compressed bytes that were read already, at most a buffer's.
  Gunzip(std::string name, std::string_view start, Read read);
  ~Gunzip();
  Gunzip(const Gunzip&) = delete;
  Gunzip& operator=(const Gunzip&) = delete;

  // At least one byte, as soon as there is one; 0 at the end. Members that follow each other are one text (RFC 1952).
  // Throws DataError where data is damaged or cut short, after what came before it.
  size_t read(char* destination, size_t count);

  static constexpr size_t buffer_bytes = 1 << 16;

 private:
  bool begin_member();
  bool refill();

  std::string name_;
  std::string damage_;  // thrown by the next read()
  Read read_;
  z_stream stream_{};
  bool in_member_ = false, any_member_ = false, padded_ = false;
  std::array<unsigned char, buffer_bytes> input_;
};

}  // namespace linformer::cli
