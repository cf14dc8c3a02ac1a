// Tokenizers by the path of what holds them.
#pragma once

#include <string>

#include "linformer/tokenizer.h"

namespace linformer::cli {

// Returns the tokenizer inside a model file.
Tokenizer tokenizer_of_model(const std::string& path);
// Returns that of a folder with vocab.json and merges.txt, tokenizer.json or vocab.txt, and perhaps dict.txt. Throws
// DataError when it can't be read, or when this program was built without the converter.
Tokenizer tokenizer_of_folder(const std::string& path);

}  // namespace linformer::cli
