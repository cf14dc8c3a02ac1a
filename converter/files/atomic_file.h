// A file that appears under its name complete or not at all.
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

// Writes to a temporary name in the target's folder; commit() syncs it, renames it over the target and syncs the
// folder. Destroyed without commit() it leaves the old file and no temporary one; for a process that a signal ends, see
// temporary_names.h. A program that has mapped the old file still sees the old bytes. A symbolic link at `path` stays,
// and the file that it points to is replaced. The new file gets the permissions that both the umask and the replaced
// file allow.
//
// "-" is standard output. It, devices and FIFOs are written to directly, without a buffer; a FIFO waits for its reader.
//
// All functions throw WriteError with the path and the reason. Not thread-safe.
class AtomicFile {
 public:
  explicit AtomicFile(const std::string& path);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void append(std::span<const std::byte> bytes);
  void append(std::string_view bytes) { append(std::as_bytes(std::span(bytes))); }
  void append_zeros(uint64_t count);
  // Overwrites bytes that were appended first. Only where is_file() is true.
  void rewrite_start(std::string_view bytes);
  // False for what is written to directly.
  bool is_file() const { return target_.kind == OutputTarget::Kind::file; }
  void commit();
  uint64_t size() const { return size_; }

 private:
  void open_temporary();
  void flush();
  [[noreturn]] void fail(const char* what, int error) const;

  std::string path_;  // as given, for messages
  OutputTarget target_;
  std::unique_ptr<TemporaryName> removal_;
  std::string folder_, temporary_;
  int descriptor_ = -1;
  uint64_t size_ = 0;
  std::vector<std::byte> buffer_;
};

}  // namespace linformer::files
