// Where tests find reference data that is not part of the repository.
#pragma once

#include <cstdio>
#include <filesystem>
#include <optional>
#include <string>

namespace linformer_test {

// The path below the shared folder, or nothing, having printed that the case is skipped.
inline std::optional<std::string> shared_path(const std::string& relative) {
  std::string path = std::string(LINFORMER_SHARED_DIR) + "/" + relative;
  if (std::filesystem::exists(path)) return path;
  std::printf("skipped: ../shared/%s is not here\n", relative.c_str());
  return std::nullopt;
}

inline std::string test_data(const std::string& relative) {
  return std::string(LINFORMER_TEST_DATA_DIR) + "/" + relative;
}

}  // namespace linformer_test
