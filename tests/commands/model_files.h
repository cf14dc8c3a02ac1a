// Models of every kind as files.
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

// All checkpoints below `golden` (FAMILY/CASE), converted with the settings that their meta.json has, and with a
// tokenizer where they read tokens. `refused` counts those that the converter doesn't take.
std::vector<ModelFile> golden_models(const std::filesystem::path& golden, const Folder& folder, int* refused);

// Depends on `index` alone: reference/random_case.h's shapes and reference/unusual_shape.h's in turn, with tokenizers
// of every kind.
ModelFile random_model_file(uint64_t index, const Folder& folder);

}  // namespace linformer_test
