// Inflates gzip data while it is read, with zlib. Memory is 32 KiB of history and a buffer, whatever the inflated size.
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
  // Reads up to `count` bytes of the compressed file and returns their number, 0 at its end.
  using Read = std::function<size_t(char* destination, size_t count)>;

  // `name` is used in messages. `start` are compressed bytes that were read already, at most buffer_bytes of them.
  Gunzip(std::string name, std::string_view start, Read read);
  ~Gunzip();
  Gunzip(const Gunzip&) = delete;
  Gunzip& operator=(const Gunzip&) = delete;

  // Writes inflated bytes to `destination` and returns their number: at least one, or 0 at the end. If at least one
  // byte is ready, it does not wait for more. Consecutive members are read as one text (RFC 1952). Throws DataError if
  // the data is damaged or cut short, after all bytes before the damage were returned.
  size_t read(char* destination, size_t count);

  static constexpr size_t buffer_bytes = 1 << 16;

 private:
  bool begin_member();
  bool refill();

  std::string name_;
  std::string damage_;  // The error message that the next read() throws, if not empty.
  Read read_;
  z_stream stream_{};
  bool in_member_ = false, any_member_ = false, padded_ = false;
  std::array<unsigned char, buffer_bytes> input_;
};

}  // namespace linformer::cli
