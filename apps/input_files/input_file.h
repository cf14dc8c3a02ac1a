// The bytes of a whole input file.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "input_files/lost_file.h"
#include "io/file_bytes.h"
#include "linformer/model.h"

namespace linformer::files {

// A file that is mapped or read into memory. If another process truncates a mapped file, this process ends with an
// error message (lost_file.h).
class InputFile {
 public:
  InputFile() = default;
  // Errors as FileBytes::map() and read().
  static Result<InputFile> open(const std::string& path, Access access);

  std::span<const std::byte> bytes() const { return bytes_.bytes(); }

 private:
  FileBytes bytes_;
  std::unique_ptr<LostFile> guard_;  // destroyed before bytes_ unmaps the pages; null where the file was read
};

}  // namespace linformer::files
