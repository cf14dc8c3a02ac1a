// Writes models of every kind as model files.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "cli/sentiment_model.h"

namespace linformer_test {

struct ModelFile {
  std::string name;  // for messages
  std::string path;
};

// Converts all checkpoints below `golden` (FAMILY/CASE) with the settings in their meta.json, and with a tokenizer if
// they read tokens. Sets `refused` to the number of checkpoints that the converter refuses.
std::vector<ModelFile> convert_golden_models(const std::filesystem::path& golden, const Folder& folder, int* refused);

// Writes a model that depends on `index` alone. The shapes are those of reference/unusual_shape.h and
// reference/random_case.h in turn, and the tokenizers are of every kind.
ModelFile write_random_model_file(uint64_t index, const Folder& folder);

}  // namespace linformer_test
