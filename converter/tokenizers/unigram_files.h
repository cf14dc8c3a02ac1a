// Reads the vocabularies of Unigram models.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "converter/tokenizers/owned_tokenizer.h"
#include "converter/tokenizers/tokenizer_json.h"

namespace linformer::convert {

// A piece of the vocabulary. Its place in a list of pieces is its id.
struct ScoredPiece {
  std::string name;
  double score;
};

// Stores the tokens and their scores. If a float would round any score, all scores are also stored as doubles.
void store_pieces(const std::vector<ScoredPiece>& pieces, OwnedTokenizer* tokenizer);

// Reads the Unigram model of a tokenizer.json, with its normalizer and pre-tokenizer. Any decoder is
// read as Metaspace; the report has a note if the file has a different one or none.
void read_unigram(const std::string& file, const JsonPart& root, OwnedTokenizer* tokenizer);

// Reads a model file of SentencePiece, such as spiece.model. Throws Error for a model that is not of the unigram type.
OwnedTokenizer load_sentencepiece_model(const std::string& path);

// Replaces SentencePiece's ids by fairseq's. The dictionary at `path` lists the pieces by name in the order of their
// ids.
void apply_fairseq_piece_dictionary(const std::string& path, OwnedTokenizer* tokenizer);

}  // namespace linformer::convert
