#include "converter/settings_file.h"

#include <filesystem>
#include <fstream>

#include "converter/readers/error.h"

namespace linformer::convert {

namespace {

namespace fs = std::filesystem;

constexpr size_t max_bytes = 16u << 20, block_bytes = 1u << 16;

// Returns whether the file is a pipe or a character device. These have no known size, and some never end.
bool is_stream(fs::file_type type) { return type == fs::file_type::fifo || type == fs::file_type::character; }

}  // namespace

Value read_json_file(const std::string& path, ValueStore& store, bool may_be_pipe) {
  std::error_code error;
  const fs::file_type type = fs::status(path, error).type();
  if (type == fs::file_type::not_found) fail(path, " does not exist");
  if (type == fs::file_type::none) fail(path, " can't be read: ", error.message());
  if (type == fs::file_type::directory) fail(path, " is a folder: give a file of settings");
  if (type != fs::file_type::regular && !(may_be_pipe && is_stream(type))) fail(path, " is not a regular file");
  std::ifstream file(path, std::ios::binary);
  if (!file) fail(path, " can't be read");
  std::string text;
  while (file) {
    const size_t before = text.size();
    if (before > max_bytes) fail(path, " is too large for a file of settings");
    text.resize(before + block_bytes);
    file.read(text.data() + before, block_bytes);
    text.resize(before + static_cast<size_t>(file.gcount()));
  }
  return parse_json(store, text, path);
}

}  // namespace linformer::convert
