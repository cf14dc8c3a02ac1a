// A whole file as memory, for programs that read no more of it than they need.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>

#include "input_files/lost_file.h"

namespace linformer::files {

// A regular file's bytes, read-only; none where it can't be opened or mapped, or is none. If another process truncates
// it, this process ends with an error message (lost_file.h).
class MappedFile {
 public:
  explicit MappedFile(const std::string& path);
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile();

  std::span<const std::byte> bytes() const { return bytes_; }
  // Why the system doesn't map a file that it opens and that has bytes; empty otherwise.
  const std::string& refusal() const { return refusal_; }

 private:
  std::string refusal_;
  std::span<const std::byte> bytes_;
  std::optional<LostFile> guard_;
};

}  // namespace linformer::files
