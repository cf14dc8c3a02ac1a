// The bytes of a whole input file.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "io/file_bytes.h"
#include "linformer/convert.h"

namespace linformer::files {

// A file that is mapped or read into memory.
class InputFile {
 public:
  InputFile() = default;
  // `control` sets whether the file is mapped or read, and has the guard of mappings. The errors are those of
  // FileBytes::map() and read().
  static Result<InputFile> open(const std::string& path, const convert::Control& control);

  std::span<const std::byte> bytes() const { return bytes_.bytes(); }

 private:
  FileBytes bytes_;
  std::shared_ptr<void> guard_;  // destroyed before bytes_ unmaps the pages; null where the file was read
};

}  // namespace linformer::files
