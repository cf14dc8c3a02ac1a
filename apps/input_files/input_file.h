// A whole file's bytes, as a program reads them.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "input_files/lost_file.h"
#include "io/file_bytes.h"
#include "linformer/model.h"

namespace linformer::files {

// Mapped or read. A mapped file that somebody truncates ends the process with a sentence (lost_file.h).
class InputFile {
 public:
  InputFile() = default;
  // Errors as FileBytes::map() and read().
  static Result<InputFile> open(const std::string& path, Access access);

  std::span<const std::byte> bytes() const { return bytes_.bytes(); }

 private:
  FileBytes bytes_;
  std::unique_ptr<LostFile> guard_;  // gone before the pages are; null: they are this process's own
};

}  // namespace linformer::files
