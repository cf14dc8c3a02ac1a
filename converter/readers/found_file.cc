#include "converter/readers/found_file.h"

#include <cerrno>
#include <cstring>

#include "converter/files/file_calls.h"
#include "converter/readers/error.h"

namespace linformer::convert {

namespace fs = std::filesystem;

bool finds_file(const fs::path& path) {
  std::error_code error;
  const fs::file_type type = fs::symlink_status(path, error).type();
  if (type == fs::file_type::not_found) return false;
  if (type == fs::file_type::none) fail(path.string(), " can't be read: ", error.message());
  const fs::file_type meant = fs::status(path, error).type();
  if (meant == fs::file_type::not_found) {
    fail(path.string(), " is a link to a file that does not exist: copy or download that, or remove the link");
  }
  if (meant == fs::file_type::none) fail(path.string(), " can't be read: ", error.message());
  if (meant != fs::file_type::regular) {
    fail(path.string(), " is not a regular file, so it can't be read: replace or remove it");
  }
  if (!files::may_read(path.string())) fail(path.string(), " can't be read: ", std::strerror(errno));
  return true;
}

}  // namespace linformer::convert
