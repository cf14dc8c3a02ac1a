// The bytes of a file in memory, read-only: mapped pages, which the page cache shares, or a copy.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/platform.h"
#include "linformer/status.h"
#include "linformer/version.h"

namespace LINFORMER_NAMESPACE {

// Owns the pages of a file's bytes. Movable. The bytes may be read from any thread. A mapped file must not be
// overwritten or truncated: the bytes would change, or SIGBUS would kill the process that reads them. Writers must
// therefore replace files by rename, as the converter does.
class FileBytes {
 public:
  // Maps a file. Returns io_error, with the path and the system's reason, if the file can't be opened or mapped or
  // isn't a regular file; corrupt_file if it is empty; invalid_argument if the path is empty; out_of_memory.
  static Result<FileBytes> map(const char* path);
  // Reads a file into memory of this process, so that later changes of the file have no effect. Returns the errors of
  // map(), out_of_memory if there is no memory, and io_error if the file ends before the size that the system reports.
  static Result<FileBytes> read(const char* path);
  // These two map or read the bytes [offset, offset + bytes) of an open file. If `bytes` is 0, the part extends to the
  // end of the file. They return invalid_argument if the part doesn't lie in the file.
  static Result<FileBytes> map(int descriptor, uint64_t offset, uint64_t bytes);
  static Result<FileBytes> read(int descriptor, uint64_t offset, uint64_t bytes);
  // Calls `read` for successive parts until it has filled `bytes` bytes of memory of this process. Returns io_error if
  // `read` returns false.
  using Read = bool (*)(void* context, std::byte* destination, uint64_t offset, size_t bytes);
  static Result<FileBytes> read_with(Read read, void* context, uint64_t bytes);
  static Result<FileBytes> copy(std::span<const std::byte> bytes);

  FileBytes() = default;
  ~FileBytes();
  FileBytes(FileBytes&& other) noexcept;
  FileBytes& operator=(FileBytes&& other) noexcept;

  // The bytes have the same alignment as their offset in the file, up to the size of a page. They stay valid if the
  // object is moved, and as long as an object owns the pages.
  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  // Takes ownership of the pages. bytes() begins at byte `first` of them.
  explicit FileBytes(const platform::Pages& pages, size_t first = 0)
      : pages_(pages), bytes_(pages.data + first, pages.size - first) {}
  static Result<FileBytes> allocate(uint64_t bytes);
  platform::Pages pages_;
  std::span<const std::byte> bytes_;
};

}  // namespace LINFORMER_NAMESPACE
