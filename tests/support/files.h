// Whole files.
#pragma once

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace linformer_test {

// A file's bytes; empty where there is none.
inline std::string read_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

}  // namespace linformer_test
