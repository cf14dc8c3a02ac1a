// Unigram vocabularies.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "converter/tokenizers/owned_tokenizer.h"
#include "converter/tokenizers/tokenizer_json.h"

namespace linformer::convert {

// One piece in the order of ids.
struct ScoredPiece {
  std::string name;
  double score;
};

// Tokens and scores, which keep their double precision where a float would round them.
void store_pieces(const std::vector<ScoredPiece>& pieces, OwnedTokenizer* tokenizer);

// The Unigram model of a tokenizer.json with its normalizer, pre-tokenizer and decoder.
void read_unigram(const std::string& file, const JsonPart& root, OwnedTokenizer* tokenizer);

// A SentencePiece model file (spiece.model): unigram only.
OwnedTokenizer load_sentencepiece_model(const std::string& path);

// Replaces SentencePiece's numbering by fairseq's: the pieces by name, as the dictionary at `path` lists them.
void apply_piece_dictionary(const std::string& path, OwnedTokenizer* tokenizer);

}  // namespace linformer::convert
