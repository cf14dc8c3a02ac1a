// Reads the vocabularies of WordPiece.
#pragma once

#include <optional>
#include <string>

#include "converter/tokenizers/owned_tokenizer.h"

namespace linformer::convert {

// Reads a tokenizer from vocab.txt. Each line is a token, whose id is the number of the line, counted from 0.
// `lowercase` is TokenizerFileOptions::lowercase.
OwnedTokenizer load_wordpiece(const std::string& vocabulary, std::optional<bool> lowercase);

// Stores the tokens, and the ids of BERT's special tokens ([CLS] and others) if the vocabulary has them.
void store_wordpiece(const NamedTokens& names, OwnedTokenizer* tokenizer);

}  // namespace linformer::convert
