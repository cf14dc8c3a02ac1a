// Maps a whole file into memory, for programs that read only parts of it.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>

#include "input_files/lost_file.h"

namespace linformer::files {

// A read-only mapping of a regular file. It has no bytes if the file can't be opened or mapped, or isn't a regular
// file. If another process truncates the file, this process ends with an error message (lost_file.h).
class MappedFile {
 public:
  explicit MappedFile(const std::string& path);
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile();

  std::span<const std::byte> bytes() const { return bytes_; }
  // Returns the system's reason if a regular file that isn't empty was opened but could not be mapped. Otherwise
  // returns an empty string.
  const std::string& mapping_error() const { return mapping_error_; }

 private:
  std::string mapping_error_;
  std::span<const std::byte> bytes_;
  std::optional<TruncationGuard> guard_;
};

}  // namespace linformer::files
