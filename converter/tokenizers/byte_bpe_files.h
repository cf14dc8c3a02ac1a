// Reads the vocabularies and merges of BPE.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "converter/tokenizers/owned_tokenizer.h"

namespace linformer::convert {

// A merge of two tokens, given by their names in the file.
struct NamedMerge {
  std::string left, right;
};

// Reads a vocabulary from a JSON file {"token": id, ...}.
NamedTokens read_vocabulary(const std::string& path, Budget* budget);

// Reads merges.txt or vocab.bpe. Each line has two tokens. Lines that are empty or begin with "#version" are skipped.
std::vector<NamedMerge> read_merges(const std::string& path, Budget* budget);

// Splits a line of the form "left right". Returns false unless it consists of exactly two names.
bool split_merge(std::string_view line, NamedMerge* merge);

// Stores the tokens, and the merges as indices of tokens. If `byte_level` is true, the names are bytes written in
// GPT-2's printable alphabet; otherwise the tokens are the characters of their names. `where` names the source of the
// merges in errors. Throws Error if a token that a merge joins or makes is not in the vocabulary.
void store_bpe(const NamedTokens& names, const std::vector<NamedMerge>& merges, bool byte_level,
               const std::string& where, OwnedTokenizer* tokenizer);

// Returns the number of byte values (0 to 255) that have no token.
size_t count_missing_bytes(const OwnedTokenizer& tokenizer);

// Reads a tokenizer from vocab.json and merges.txt, or from encoder.json and vocab.bpe. Special tokens are recognised
// by their names, such as <s>.
OwnedTokenizer load_byte_bpe(const std::string& vocabulary, const std::string& merges);

// Replaces GPT-2's ids by the ids of the model, which fairseq's dictionary (dict.txt) at `path` gives.
void apply_fairseq_dictionary(const std::string& path, OwnedTokenizer* tokenizer);

}  // namespace linformer::convert
