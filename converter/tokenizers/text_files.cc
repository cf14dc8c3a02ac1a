#include "converter/tokenizers/text_files.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "converter/readers/error.h"

namespace linformer::convert {

std::string read_text_file(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) fail(path, " is not a file that can be read");
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  const uint64_t size = std::filesystem::file_size(path, error);
  if (!file || error) fail(path, " cannot be read: ", errno != 0 ? std::strerror(errno) : error.message());
  if (size > max_tokenizer_file_bytes) {
    fail(path, " has ", size, " bytes; a tokenizer file has at most ", max_tokenizer_file_bytes);
  }
  std::string text(size, '\0');
  file.read(text.data(), static_cast<std::streamsize>(size));
  if (file.gcount() != static_cast<std::streamsize>(size)) fail(path, " cannot be read to its end");
  return text;
}

std::vector<std::string_view> lines_of(const std::string& text) {
  std::vector<std::string_view> lines;
  for (size_t at = 0; at < text.size();) {
    size_t end = text.find('\n', at);
    if (end == std::string::npos) end = text.size();
    std::string_view line = std::string_view(text).substr(at, end - at);
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    lines.push_back(line);
    at = end + 1;
  }
  return lines;
}

nlohmann::json read_json_file(const std::string& path) {
  const std::string text = read_text_file(path);
  try {
    return nlohmann::json::parse(text);
  } catch (const nlohmann::json::parse_error& error) {
    fail(path, " is not valid JSON at byte ", error.byte);
  } catch (const nlohmann::json::out_of_range&) {
    fail(path, " has a number that is too large");
  }
}

}  // namespace linformer::convert
