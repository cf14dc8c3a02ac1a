// Writes files to temporary names, and renames them when they are complete.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "converter/files/output_target.h"
#include "converter/files/temporary_names.h"
#include "converter/files/write_error.h"

namespace linformer::files {

// An output file. Bytes are written under a temporary name in the target's folder; commit() syncs the file, renames it
// over the target and syncs the folder. If the object is destroyed without commit(), the old file stays and the
// temporary file is removed; temporary_names.h says what happens if a signal ends the process. A program that has
// mapped the old file still sees the old bytes. A symbolic link at `path` is kept, and the file that it points to is
// replaced. The new file gets the permissions that both the umask and the replaced file allow.
//
// The path "-" is standard output. Standard output, devices and FIFOs are written to directly, without a buffer.
// Opening a FIFO waits until it has a reader.
//
// All functions throw WriteError, which names the path and the reason. Not thread-safe.
class AtomicFile {
 public:
  explicit AtomicFile(const std::string& path);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void append(std::span<const std::byte> bytes);
  void append(std::string_view bytes) { append(std::as_bytes(std::span(bytes))); }
  void append_zeros(uint64_t count);
  // Overwrites the first bytes of the file, which must have been appended before. is_file() must be true.
  void rewrite_start(std::string_view bytes);
  // Returns whether a file is written and renamed. False for standard output, devices and FIFOs.
  bool is_file() const { return target_.kind == OutputTarget::Kind::file; }
  void commit();
  uint64_t size() const { return size_; }

 private:
  void open_temporary();
  void flush();
  [[noreturn]] void fail(const char* what, int error) const;

  std::string path_;  // The path that the caller gave, for errors.
  OutputTarget target_;
  std::unique_ptr<TemporaryName> removal_;
  std::string folder_, temporary_;
  int descriptor_ = -1;
  uint64_t size_ = 0;
  std::vector<std::byte> buffer_;
};

}  // namespace linformer::files
