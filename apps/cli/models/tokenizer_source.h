// Reads a tokenizer from a model file or a folder.
#pragma once

#include <string>

#include "linformer/tokenizer.h"

namespace linformer::cli {

// Returns the tokenizer inside a model file.
Tokenizer tokenizer_of_model(const std::string& path);
// Returns the tokenizer of a folder that has vocab.json and merges.txt, tokenizer.json or vocab.txt, and perhaps
// dict.txt. Throws DataError if it can't be read, or if this program was built without the converter.
Tokenizer tokenizer_of_folder(const std::string& path);

}  // namespace linformer::cli
