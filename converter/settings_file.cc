#include "converter/settings_file.h"

#include <filesystem>
#include <fstream>
#include <iterator>

#include "converter/readers/error.h"

namespace linformer::convert {

Value read_json_file(const std::string& path, ValueStore& store) {
  constexpr uintmax_t max_bytes = 16u << 20;
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) fail(path, " does not exist or is not a regular file");
  if (std::filesystem::file_size(path, error) > max_bytes) fail(path, " is too large for a file of settings");
  std::ifstream file(path, std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  return parse_json(store, text, path);
}

}  // namespace linformer::convert
