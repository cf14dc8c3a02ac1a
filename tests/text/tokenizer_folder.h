// Writes folders of tokenizer files for tests, and returns the notes or errors of reading them.
#pragma once

#include <filesystem>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>

#include "converter/readers/error.h"
#include "converter/tokenizers/tokenizer_files.h"
#include "support/shared_data.h"
#include "support/temporary_folder.h"

namespace linformer_test {

class TokenizerFolder : public TemporaryFolder {
 public:
  void write(const std::string& name, const std::string& content) const {
    std::ofstream(path(name), std::ios::binary) << content;
  }
  void copy(const std::string& from) const {
    for (const auto& file : std::filesystem::directory_iterator(test_data_path("tokenizers/" + from))) {
      std::filesystem::copy(file.path(), path(file.path().filename()),
                            std::filesystem::copy_options::overwrite_existing);
    }
  }
};

inline std::string error_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const linformer::convert::Error& error) {
    return error.what();
  }
  return "no error";
}

inline bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

inline std::string notes_of(const linformer::convert::OwnedTokenizer& tokenizer) {
  std::string notes;
  for (const std::string& note : tokenizer.notes) notes += note + "\n";
  return notes;
}

inline nlohmann::json read_json(const std::string& name) {
  std::ifstream file(test_data_path("tokenizers/" + name));
  return nlohmann::json::parse(file);
}

}  // namespace linformer_test
