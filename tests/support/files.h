// Reads whole files.
#pragma once

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <utility>

namespace linformer_test {

// Returns a file's bytes, or "" if there is no such file.
inline std::string read_file(const std::filesystem::path& path) {
  const std::ifstream file(path, std::ios::binary);
  std::ostringstream bytes;
  bytes << file.rdbuf();  // in blocks: byte by byte takes long in tests, which aren't optimised
  return std::move(bytes).str();
}

}  // namespace linformer_test
