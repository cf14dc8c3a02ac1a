#include "fuzz/folder.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <system_error>

namespace linformer_fuzz {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view mark = "==== ";

bool is_plain(std::string_view name) {
  if (name.empty() || name.size() > 64 || std::count(name.begin(), name.end(), '/') > 1) return false;
  const auto known = [](unsigned char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' ||
           c == '.' || c == '/';
  };
  if (!std::all_of(name.begin(), name.end(), known) || name.front() == '/' || name.back() == '/') return false;
  const size_t slash = name.find('/');
  return name.front() != '.' && (slash == name.npos || name[slash + 1] != '.');
}

}  // namespace

Parts split(std::span<const uint8_t> bytes) {
  const std::string_view all(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  Parts parts;
  for (size_t begin = 0; begin < all.size();) {
    FolderPart part;
    if (all.substr(begin).starts_with(mark)) {
      const size_t name = begin + mark.size(), line = std::min(all.find('\n', name), all.size());
      part.name = all.substr(name, line - name);
      begin = std::min(line + 1, all.size());
    }
    // The search starts at the line feed of the name's line, because the content of a part may be empty.
    const size_t next = std::min(all.find("\n==== ", begin == 0 ? 0 : begin - 1), all.size());
    if (next > begin) part.content = all.substr(begin, next - begin);
    parts.push_back(std::move(part));
    begin = std::min(std::max(begin, next + 1), all.size());
  }
  return parts;
}

std::string join(const Parts& parts) {
  std::string all;
  for (const FolderPart& part : parts) {
    if (!all.empty()) all += '\n';
    if (!part.name.empty()) all.append(mark).append(part.name).append("\n");
    all += part.content;
  }
  return all;
}

const std::string* find(const Parts& parts, std::string_view name) {
  for (const FolderPart& part : parts) {
    if (part.name == name) return &part.content;
  }
  return nullptr;
}

void InputFolder::write(const Parts& parts) const {
  for (const FolderPart& part : parts) {
    if (is_plain(part.name)) write(part.name, part.content);
  }
}

void InputFolder::write(std::string_view name, std::string_view content) const {
  const fs::path file = path(name);
  std::error_code ignored;
  if (name.find('/') != name.npos) fs::create_directories(file.parent_path(), ignored);
  std::ofstream(file, std::ios::binary).write(content.data(), static_cast<std::streamsize>(content.size()));
}

void InputFolder::clear(std::span<const std::string_view> kept) const {
  std::error_code ignored;
  std::vector<fs::path> entries;
  for (const auto& entry : fs::directory_iterator(path(), ignored)) entries.push_back(entry.path());
  for (const fs::path& path : entries) {
    if (std::find(kept.begin(), kept.end(), path.filename().string()) == kept.end()) fs::remove_all(path, ignored);
  }
}

}  // namespace linformer_fuzz
