// A file that appears under its name complete or not at all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace linformer::writer {

// Writes to a temporary name in the same folder; commit() syncs it, renames it over `path` and syncs the folder.
// Destroyed without commit(), it removes the temporary file. A program that has the old file mapped keeps the old
// bytes. A symbolic link at `path` is replaced by the file. Throws WriteError with the path and the reason.
class AtomicFile {
 public:
  explicit AtomicFile(std::string path);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void append(std::span<const std::byte> bytes);
  void append_zeros(uint64_t count);
  void commit();
  uint64_t size() const { return size_; }

 private:
  void flush();
  [[noreturn]] void fail(const char* what, int error) const;
  std::string path_, folder_, temporary_;
  int descriptor_ = -1;
  uint64_t size_ = 0;
  std::vector<std::byte> buffer_;
};

}  // namespace linformer::writer
