#include "converter/files/input_file.h"

#include <utility>

namespace linformer::files {

Result<InputFile> InputFile::open(const std::string& path, const convert::Control& control) {
  const bool mapped = control.access == Access::map;
  Result<FileBytes> bytes = mapped ? FileBytes::map(path.c_str()) : FileBytes::read(path.c_str());
  if (!bytes.ok()) return bytes.status();
  InputFile file;
  file.bytes_ = std::move(*bytes);
  if (mapped && control.guard_mapping) file.guard_ = control.guard_mapping(file.bytes(), path);
  return file;
}

}  // namespace linformer::files
