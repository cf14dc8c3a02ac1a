// Opens input files.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "io/file_bytes.h"
#include "linformer/convert.h"

namespace linformer::files {

// The bytes of a whole file, which is mapped or was read into memory.
class InputFile {
 public:
  InputFile() = default;
  // Maps or reads the file as control.access says, and passes a mapping to control.guard_mapping. Returns the errors of
  // FileBytes::map() and FileBytes::read().
  static Result<InputFile> open(const std::string& path, const convert::Control& control);

  std::span<const std::byte> bytes() const { return bytes_.bytes(); }

 private:
  FileBytes bytes_;
  // The result of control.guard_mapping. It is destroyed before bytes_ unmaps the pages. Null if the file was read.
  std::shared_ptr<void> guard_;
};

}  // namespace linformer::files
