// BPE: names of tokens, merges and what follows from them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "converter/tokenizers/owned_tokenizer.h"

namespace linformer::convert {

// A merge as its file writes it, and where: for the sentence when a token is missing.
struct NamedMerge {
  std::string left, right;
};

// The vocabulary of a JSON object {"token": id, ...}.
NamedTokens read_vocabulary(const std::string& path, Budget* budget);

// merges.txt or vocab.bpe: two tokens on a line, an optional "#version" line first.
std::vector<NamedMerge> read_merges(const std::string& path, Budget* budget);

// Splits "left right"; false unless there are exactly two.
bool split_merge(std::string_view line, NamedMerge* merge);

// Tokens and merges as indices. `bytes`: the tokens are bytes that are written in the printable alphabet, otherwise
// they are the characters of their names. `where` names the source of the merges.
void store_bpe(const NamedTokens& names, const std::vector<NamedMerge>& merges, bool bytes, const std::string& where,
               OwnedTokenizer* tokenizer);

// The number of bytes that no token stands for.
size_t missing_bytes(const OwnedTokenizer& tokenizer);

// vocab.json and merges.txt (or encoder.json and vocab.bpe) with the special tokens that their names suggest.
OwnedTokenizer load_byte_bpe(const std::string& vocabulary, const std::string& merges);

// Replaces GPT-2's numbering by the model's, as fairseq's dictionary at `path` gives it.
void apply_fairseq_dictionary(const std::string& path, OwnedTokenizer* tokenizer);

}  // namespace linformer::convert
