#include "converter/tokenizers/owned_tokenizer.h"

#include <algorithm>

#include "base/description.h"
#include "converter/readers/error.h"

namespace linformer::convert {

TokenizerDescription OwnedTokenizer::view() const {
  TokenizerDescription viewed = description;
  viewed.token_bytes = token_bytes;
  viewed.token_offsets = token_offsets;
  viewed.token_ids = token_ids;
  viewed.merges = merges;
  viewed.scores = scores;
  viewed.rules.exact_scores = exact_scores;
  viewed.rules.charsmap = charsmap;
  viewed.rules.token_uses = token_uses;
  return viewed;
}

bool NamedTokens::add(std::string_view name, int32_t id, Budget* budget) {
  // The name is stored in id_of, in by_id and among the bytes of the tokens. These containers have some spare capacity.
  constexpr uint64_t copies = 4;
  budget->charge_steps(1);
  const bool added = id_of.insert_or_assign(std::string(name), id).second;
  if (added) budget->charge_memory(copies * (sizeof(std::string) + sizeof(int32_t) + name.size()));
  return added;
}

int32_t NamedTokens::find(std::string_view name) const {
  const auto found = id_of.find(name);
  return found == id_of.end() ? -1 : found->second;
}

void sort_names_by_id(const std::string& file, NamedTokens* names) {
  names->by_id.clear();
  for (const auto& [name, id] : names->id_of) names->by_id.emplace_back(id, name);
  std::sort(names->by_id.begin(), names->by_id.end());
  if (names->by_id.empty()) fail(file, " has no tokens");
  for (size_t i = 0; i < names->by_id.size(); ++i) {
    const auto& [id, name] = names->by_id[i];
    if (id < 0 || id >= static_cast<int32_t>(max_dimension)) {
      fail(file, " gives token ", quote(name), " the id ", id, "; ids are 0 to ", max_dimension - 1);
    }
    if (i > 0 && names->by_id[i - 1].first == id) {
      fail(file, " gives the id ", id, " to ", quote(names->by_id[i - 1].second), " and to ", quote(name));
    }
  }
}

void store_tokens(const NamedTokens& names, const std::vector<std::string>& bytes, OwnedTokenizer* tokenizer) {
  tokenizer->token_offsets.assign(1, 0);
  for (const std::string& token : bytes) {
    tokenizer->token_bytes.insert(tokenizer->token_bytes.end(), token.begin(), token.end());
    tokenizer->token_offsets.push_back(static_cast<uint32_t>(tokenizer->token_bytes.size()));
  }
  const bool identity = names.by_id.back().first == static_cast<int32_t>(names.by_id.size()) - 1;
  if (identity) return;
  for (const auto& [id, name] : names.by_id) tokenizer->token_ids.push_back(id);
}

AddedToken special_token(std::string content, int32_t id, bool strip_left) {
  AddedToken token;
  token.content = std::move(content);
  token.id = id;
  token.special = true;
  token.strip_left = strip_left;
  return token;
}

void set_templates(int32_t first, int32_t last, bool double_separator, bool second_type, OwnedTokenizer* tokenizer) {
  TokenizerDescription& description = tokenizer->description;
  description.single_template = {first, template_first, last};
  description.pair_template = {first, template_first, last, template_second, last};
  if (second_type) description.pair_types = {0, 0, 0, 1, 1};
  if (double_separator) description.pair_template.insert(description.pair_template.begin() + 2, last);
}

}  // namespace linformer::convert
