// The bytes of a whole input file.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "io/file_bytes.h"
#include "linformer/model.h"

namespace linformer::files {

// Called with the bytes and the path of each file that is mapped, in the thread that maps it. What it returns is
// destroyed before the file is unmapped. If another process truncates a mapped file, reading it raises SIGBUS: a
// program that handles that learns here which pages belong to which file.
using GuardMapping = std::function<std::shared_ptr<void>(std::span<const std::byte> bytes, const std::string& path)>;

// How files are read.
struct InputOptions {
  InputOptions(Access how = Access::map, GuardMapping guard = {}) : access(how), guard_mapping(std::move(guard)) {}

  Access access;
  GuardMapping guard_mapping;  // may be empty
};

// A file that is mapped or read into memory.
class InputFile {
 public:
  InputFile() = default;
  // Errors as FileBytes::map() and read().
  static Result<InputFile> open(const std::string& path, const InputOptions& options);

  std::span<const std::byte> bytes() const { return bytes_.bytes(); }

 private:
  FileBytes bytes_;
  std::shared_ptr<void> guard_;  // destroyed before bytes_ unmaps the pages; null where the file was read
};

}  // namespace linformer::files
