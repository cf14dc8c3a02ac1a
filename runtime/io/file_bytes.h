// A file's bytes in memory, read-only: pages shared with the page cache, or a copy.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/platform.h"
#include "linformer/status.h"
#include "linformer/version.h"

namespace LINFORMER_NAMESPACE {

// Owns the pages. Movable; the bytes are immutable and may be read from any thread.
// A file that another program truncates while it is mapped kills the reader with SIGBUS: writers must replace
// files by rename, as ours does.
class FileBytes {
 public:
  // io_error (path and the system's reason) when the file can't be opened or mapped or isn't a regular file;
  // corrupt_file when it is empty.
  static Result<FileBytes> map(const char* path);
  // The same, with the bytes read into pages of this process: what happens to the file later doesn't matter.
  // out_of_memory when there are none, io_error when the file is shorter than it was said to be.
  static Result<FileBytes> read(const char* path);
  // The bytes [offset, offset + bytes) of an open file; 0 bytes: up to its end. invalid_argument where they aren't in
  // it.
  static Result<FileBytes> map(int descriptor, uint64_t offset, uint64_t bytes);
  static Result<FileBytes> read(int descriptor, uint64_t offset, uint64_t bytes);
  // `bytes` bytes that read() puts into pages of this process, in order.
  using Read = bool (*)(void* context, std::byte* destination, uint64_t offset, size_t bytes);
  static Result<FileBytes> read_with(Read read, void* context, uint64_t bytes);
  static Result<FileBytes> copy(std::span<const std::byte> bytes);

  FileBytes() = default;
  ~FileBytes();
  FileBytes(FileBytes&& other) noexcept;
  FileBytes& operator=(FileBytes&& other) noexcept;

  // Aligned as the offset in the file is, up to a page. Valid while the pages are owned by anyone.
  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  // All the bytes from `first` on.
  explicit FileBytes(const platform::Pages& pages, size_t first = 0)
      : pages_(pages), bytes_(pages.data + first, pages.size - first) {}
  static Result<FileBytes> allocate(uint64_t bytes);
  platform::Pages pages_;
  std::span<const std::byte> bytes_;
};

}  // namespace LINFORMER_NAMESPACE
