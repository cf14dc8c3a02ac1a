// Reads reference tokenizations and compares Encodings with them.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/description.h"
#include "converter/tokenizers/tokenizer_files.h"
#include "linformer/tokenizer.h"

namespace linformer_test {

// A tokenizer and the files that its description points to.
struct LoadedTokenizer {
  explicit LoadedTokenizer(linformer::convert::OwnedTokenizer files);
  linformer::convert::OwnedTokenizer files;
  linformer::TokenizerDescription description;
  linformer::Tokenizer tokenizer;
};

// Calls `check` with each JSON line of the file. Prints and returns the number of lines.
int for_each_line(const std::string& path, const std::function<void(const nlohmann::json&)>& check);

std::vector<std::string> token_strings(const linformer::Encoding& encoding);
nlohmann::json offsets_of(const linformer::Encoding& encoding);
std::vector<int32_t> ids_of(const linformer::Encoding& encoding);

// Checks the ids, token strings and offsets of `expected`, and its type_ids and special_tokens_mask if it has them.
void check_equal(const linformer::Encoding& encoding, const nlohmann::json& expected);

std::string bytes_of_hex(const std::string& hex);

// Returns the truncation options of `line`.
linformer::EncodeOptions truncation_options(const nlohmann::json& line);

// Compares one line of a truncation file.
void check_truncation(const linformer::Tokenizer& tokenizer, const nlohmann::json& line, linformer::Encoding* encoding);

}  // namespace linformer_test
