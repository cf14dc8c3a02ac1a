// A whole file in memory, read-only: shared with the page cache, or a copy.
#pragma once

#include <cstddef>
#include <span>

#include "linformer/status.h"

namespace linformer {

// Owns one mapping. Movable; the bytes are immutable and may be read from any thread.
// A file that another program truncates while it is mapped kills the reader with SIGBUS: writers must replace
// files by rename, as ours does.
class MappedFile {
 public:
  // io_error (path and the system's reason) when the file can't be opened or mapped or isn't a regular file;
  // corrupt_file when it is empty.
  static Result<MappedFile> open(const char* path);
  // The same, with the bytes read into pages of this process: what happens to the file later doesn't matter.
  // out_of_memory when there are none, io_error when the file is shorter than it was said to be.
  static Result<MappedFile> read(const char* path);

  MappedFile() = default;
  ~MappedFile();
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;

  // Page-aligned. Valid while this object lives.
  std::span<const std::byte> bytes() const { return bytes_; }
  // Gives the mapping up to the caller, who ends it with unmap().
  std::span<const std::byte> release();
  static void unmap(std::span<const std::byte> bytes);

 private:
  explicit MappedFile(std::span<const std::byte> bytes) : bytes_(bytes) {}
  std::span<const std::byte> bytes_;
};

}  // namespace linformer
