// Functions that build the description of a tokenizer.
#pragma once

#include <string>
#include <vector>

#include "base/description.h"
#include "converter/readers/text_map.h"
#include "converter/tokenizers/tokenizer_files.h"

namespace linformer::convert {

// The tokens of a vocabulary by the names in its file, with their ids.
struct NamedTokens {
  TextMap<int32_t> id_of;
  std::vector<std::pair<int32_t, std::string>> by_id;  // In ascending order. Set by sort_names_by_id().

  // Gives `name` the id, and charges the memory of all copies that will be made of the name. Returns false if the name
  // already had an id, which is then replaced.
  bool add(std::string_view name, int32_t id, Budget* budget);
  // Returns the id of `name`, or -1 if there is none.
  int32_t find(std::string_view name) const;
};

// Fills by_id. Throws Error, which names `file`, unless the ids are unique and below max_dimension.
void sort_names_by_id(const std::string& file, NamedTokens* names);

// Stores the tokens. bytes[i] are the bytes of the token names.by_id[i]. token_ids stays empty if the ids are 0, 1, 2,
// ...
void store_tokens(const NamedTokens& names, const std::vector<std::string>& bytes, OwnedTokenizer* tokenizer);

// Returns a special added token, which is recognised inside texts.
AddedToken special_token(std::string content, int32_t id, bool strip_left);

// Sets the template "first A last" for a text A, and "first A last B last" for a pair. If `double_separator` is true,
// the template for pairs is "first A last last B last", as RoBERTa's. If `second_type` is true, B and the token after
// it have token type 1.
void set_templates(int32_t first, int32_t last, bool double_separator, bool second_type, OwnedTokenizer* tokenizer);

}  // namespace linformer::convert
