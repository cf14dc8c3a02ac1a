#include "files/same_file.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "system/descriptors.h"

namespace linformer::files {
namespace {

// Returns the facts of a regular file, or empty facts for anything else. Writing to a device, a pipe or a folder
// doesn't replace it, so it may be both an input and an output.
system::FileFacts facts_of_file(const std::string& path, int standard) {
  if (path.empty()) return {};
  const system::FileFacts facts = path == "-" ? system::facts_of(standard) : system::facts_of(path);
  return facts.regular() ? facts : system::FileFacts();
}

}  // namespace

const std::string* same_file(const std::string& output, std::span<const std::string> inputs) {
  const system::FileFacts written = facts_of_file(output, system::standard_output);
  if (!written.regular()) return nullptr;
  const auto found = std::find_if(inputs.begin(), inputs.end(), [&](const std::string& input) {
    const system::FileFacts read = facts_of_file(input, system::standard_input);
    return read.regular() && read.device == written.device && read.number == written.number;
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
