#include "files/same_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

namespace linformer::files {
namespace {

// Devices, pipes and folders are not replaced, so that one may be both.
bool is_regular(const std::string& path, int standard, struct stat* facts) {
  if (path.empty()) return false;
  return (path == "-" ? ::fstat(standard, facts) : ::stat(path.c_str(), facts)) == 0 && S_ISREG(facts->st_mode);
}

}  // namespace

const std::string* same_file(const std::string& output, std::span<const std::string> inputs) {
  struct stat written {};
  if (!is_regular(output, STDOUT_FILENO, &written)) return nullptr;
  const auto found = std::find_if(inputs.begin(), inputs.end(), [&](const std::string& input) {
    struct stat read {};
    return is_regular(input, STDIN_FILENO, &read) && read.st_dev == written.st_dev && read.st_ino == written.st_ino;
  });
  return found == inputs.end() ? nullptr : &*found;
}

bool same_output(const std::string& one, const std::string& other) {
  if (one.empty() || other.empty() || one == "-" || other == "-") return false;
  namespace fs = std::filesystem;
  std::error_code error;
  if (fs::exists(one, error)) return same_file(one, {&other, 1}) != nullptr;
  const auto full = [&](const std::string& path) {
    return error ? fs::path() : fs::weakly_canonical(fs::absolute(path, error), error);
  };
  error.clear();
  const fs::path first = full(one), second = full(other);
  return !error && first == second;
}

}  // namespace linformer::files
