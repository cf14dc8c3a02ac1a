#include "input_files/input_file.h"

#include <utility>

namespace linformer::files {

Result<InputFile> InputFile::open(const std::string& path, Access access) {
  Result<FileBytes> bytes = access == Access::read ? FileBytes::read(path.c_str()) : FileBytes::map(path.c_str());
  if (!bytes.ok()) return bytes.status();
  InputFile file;
  file.bytes_ = std::move(*bytes);
  if (access == Access::map) file.guard_ = std::make_unique<LostFile>(file.bytes(), path);
  return file;
}

}  // namespace linformer::files
