// WordPiece vocabularies.
#pragma once

#include <optional>
#include <string>

#include "converter/tokenizers/owned_tokenizer.h"

namespace linformer::convert {

// vocab.txt: a token on each line, its id the line's number from 0.
OwnedTokenizer load_wordpiece(const std::string& vocabulary, std::optional<bool> lowercase);

// Stores `names` as the tokens, with BERT's special ids where the names are there.
void store_wordpiece(const NamedTokens& names, OwnedTokenizer* tokenizer);

}  // namespace linformer::convert
