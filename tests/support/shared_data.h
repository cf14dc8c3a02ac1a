// Finds the reference data of tests: in the tree, or in ../shared, which is not part of the repository.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "support/skip.h"

namespace linformer_test {

// Returns the path below the shared folder. If the path doesn't exist, reports the case as skipped and returns nothing.
inline std::optional<std::string> shared_path(const std::string& relative) {
  std::string path = std::string(LINFORMER_SHARED_DIR) + "/" + relative;
  if (std::filesystem::exists(path)) return path;
  skip("../shared/" + relative + " is not here");
  return std::nullopt;
}

inline std::string test_data_path(const std::string& relative) {
  return std::string(LINFORMER_TEST_DATA_DIR) + "/" + relative;
}

// Returns the folder of the golden cases in the tree, one of each family and feature.
inline std::string golden_cases_folder() { return test_data_path("golden"); }

}  // namespace linformer_test
