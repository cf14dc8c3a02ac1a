// Queries and reads files and descriptors. Paths are UTF-8, and functions that fail set errno.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace linformer::system {

inline constexpr int standard_input = 0, standard_output = 1, standard_error = 2;

struct FileFacts {
  enum class Kind : uint8_t { none, regular, folder, pipe, other };
  Kind kind = Kind::none;           // `none` if the file doesn't exist or the system returns an error.
  uint64_t size = 0;                // In bytes, for regular files only.
  uint64_t device = 0, number = 0;  // Together they identify the file: no two files have the same pair.

  bool regular() const { return kind == Kind::regular; }
};
FileFacts facts_of(const std::string& path);
FileFacts facts_of(int descriptor);

// Opens a file for reading. Child processes don't inherit the descriptor. Returns -1 if the file can't be opened.
int open_for_reading(const std::string& path);
void close_descriptor(int descriptor);
// Reads at most `count` bytes. Returns the number of bytes that were read, 0 at the end of the file, or -1 after an
// error.
std::ptrdiff_t read_some(int descriptor, void* to, size_t count);
// Returns false if a read would have to wait for bytes.
bool has_bytes_now(int descriptor);
// Returns whether standard input is a pipe or a regular file with bytes to read. For a pipe, this call blocks until the
// first bytes arrive or the writer closes it. Returns false for terminals, devices and sockets.
bool standard_input_has_bytes();

}  // namespace linformer::system
