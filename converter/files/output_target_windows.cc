// Windows has no paths that name descriptors, such as /dev/stdout. A path names a file, a folder or a device such as
// NUL.
#include <cerrno>
#include <filesystem>
#include <system_error>

#include "converter/files/output_target.h"
#include "converter/files/wide_path.h"
#include "converter/files/write_error.h"

namespace linformer::files {
namespace {

[[noreturn]] void refuse(const std::string& path, const std::string& reason, int error = 0) {
  throw WriteError("cannot write " + path + ": " + reason, error);
}

}  // namespace

OutputTarget output_target(const std::string& path) {
  namespace fs = std::filesystem;
  constexpr int standard_output = 1;
  if (path == "-") return {OutputTarget::Kind::descriptor, "standard output", standard_output};
  std::error_code error;
  fs::path place = wide(path);
  // If the path is a symbolic link, the file that it points to is replaced, or created if it doesn't exist.
  if (fs::is_symlink(place, error)) place = fs::weakly_canonical(place, error);
  if (error && error != std::errc::no_such_file_or_directory) refuse(path, error.message(), error.value());
  const std::wstring name = place.filename().wstring();
  if (name.empty() || name == L"." || name == L"..") refuse(path, "give a file's path");
  const fs::file_type type = fs::status(place, error).type();
  if (type == fs::file_type::directory) refuse(path, "it is a folder: give a file in it");
  if (type == fs::file_type::character || type == fs::file_type::fifo) {
    return {OutputTarget::Kind::stream, narrow(place.wstring()), -1};
  }
  if (type == fs::file_type::none || type == fs::file_type::not_found || type == fs::file_type::regular) {
    return {OutputTarget::Kind::file, narrow(place.wstring()), -1};
  }
  refuse(path, "it exists and is not a regular file");
}

}  // namespace linformer::files
