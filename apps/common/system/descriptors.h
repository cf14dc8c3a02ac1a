// Files and descriptors that programs read. Paths are UTF-8; errors are in errno.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace linformer::system {

inline constexpr int standard_input = 0, standard_output = 1, standard_error = 2;

struct FileFacts {
  enum class Kind : uint8_t { none, regular, folder, pipe, other };
  Kind kind = Kind::none;           // none: the system finds nothing, or doesn't say
  uint64_t size = 0;                // of a regular file
  uint64_t device = 0, number = 0;  // no other file has both

  bool regular() const { return kind == Kind::regular; }
};
FileFacts facts_of(const std::string& path);
FileFacts facts_of(int descriptor);

// For reading, and not inherited by programs that are started. -1: it can't be opened.
int open_for_reading(const std::string& path);
void close_descriptor(int descriptor);
// The number of bytes that were read, 0 at the end, -1 after an error.
std::ptrdiff_t read_some(int descriptor, void* to, size_t count);
// False where a read would have to wait for bytes.
bool has_bytes_now(int descriptor);
// Whether standard input is a pipe or a regular file with bytes to read. For a pipe it blocks until the first bytes
// arrive or the writer closes it. Terminals, devices and sockets are none.
bool standard_input_has_bytes();

}  // namespace linformer::system
