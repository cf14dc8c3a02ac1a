// Putting a description together.
#pragma once

#include <string>
#include <vector>

#include "base/description.h"
#include "converter/readers/text_map.h"
#include "converter/tokenizers/tokenizer_files.h"

namespace linformer::convert {

// Names of a vocabulary as its file writes them, with their ids.
struct NamedTokens {
  TextMap<int32_t> id_of;
  std::vector<std::pair<int32_t, std::string>> by_id;  // ascending

  // Gives `name` the id and charges for what becomes of it later too. False where it has had another.
  bool add(std::string_view name, int32_t id, Budget* budget);
  // The id of `name`, -1 when there is none.
  int32_t find(std::string_view name) const;
};

// Checks that ids are unique and below max_dimension, and sorts. `file` is for the sentence.
void finish_names(const std::string& file, NamedTokens* names);

// Stores `bytes` of the tokens in the order of names.by_id; token_ids stays empty when the ids are 0, 1, 2, ...
void store_tokens(const NamedTokens& names, const std::vector<std::string>& bytes, OwnedTokenizer* tokenizer);

// A special added token that is looked for in texts.
AddedToken special_token(std::string content, int32_t id, bool strip_left);

// Templates first A last, and first A last B last (RoBERTa: first A last last B last). `second_type`: B and the last
// separator have token type 1.
void set_templates(int32_t first, int32_t last, bool double_separator, bool second_type, OwnedTokenizer* tokenizer);

}  // namespace linformer::convert
