#include "text/added_tokens.h"

#include <algorithm>

#include "base/description.h"
#include "text/unicode.h"

namespace LINFORMER_NAMESPACE {
namespace {

Status no_memory_for_added_tokens() {
  return Status::error(Code::out_of_memory, "no memory for the tokenizer's added tokens");
}

uint32_t code_point_before(std::string_view text, size_t at) {
  do {
    --at;
  } while (is_continuation(text[at]));
  return next_code_point(text.data(), &at);
}

uint32_t code_point_at(std::string_view text, size_t at) { return next_code_point(text.data(), &at); }

bool all_white_space(std::string_view text) {
  for (size_t at = 0; at < text.size();) {
    if (!is_white_space(next_code_point(text.data(), &at))) return false;
  }
  return true;
}

}  // namespace

Status AddedTokens::add(const AddedToken& token, std::string_view content, bool special) {
  if (content.empty()) return {};
  if (content.size() > max_added_token_bytes) {
    return Status::error(Code::unsupported, "the added token with id %d has %zu bytes; at most %zu are supported",
                         token.id, content.size(), max_added_token_bytes);
  }
  if (valid_utf8_prefix(content) != content.size()) {
    return Status::error(Code::corrupt_file, "the added token with id %d is not valid UTF-8", token.id);
  }
  if (token.strip_right && all_white_space(content)) {
    return Status::error(Code::unsupported,
                         "the added token with id %d is white space and has rstrip, which is not supported: remove "
                         "rstrip",
                         token.id);
  }
  const Token added = {
      token.id, static_cast<uint32_t>(content.size()), special, token.single_word, token.strip_left, token.strip_right};
  if (!tokens_.try_push(added) || !backwards_.try_append(content.data(), content.size()))
    return no_memory_for_added_tokens();
  std::reverse(backwards_.end() - content.size(), backwards_.end());
  return {};
}

Status AddedTokens::finish() {
  if (tokens_.empty()) return {};
  Array<TokenTrie::Entry> entries;
  if (!entries.try_reserve(tokens_.size())) return no_memory_for_added_tokens();
  const char* name = backwards_.data();
  for (size_t i = 0; i < tokens_.size(); name += tokens_[i++].bytes) {
    // If names are equal, the trie keeps the largest number, so the first token gets it.
    const auto number = static_cast<int32_t>(tokens_.size() - 1 - i);
    if (!entries.try_push({{name, tokens_[i].bytes}, number})) return no_memory_for_added_tokens();
  }
  LINFORMER_TRY(trie_.create(&entries));
  std::reverse(tokens_.begin(), tokens_.end());
  name = backwards_.data();
  for (size_t i = tokens_.size(); i-- > 0; name += tokens_[i].bytes) {
    const Token& found = tokens_[static_cast<size_t>(trie_.find({name, tokens_[i].bytes}))];
    if (found.id == tokens_[i].id) continue;
    return Status::error(Code::unsupported,
                         "the added tokens with ids %d and %d are the same text after normalisation, so a match is "
                         "ambiguous: keep only one of them",
                         found.id, tokens_[i].id);
  }
  if (!links_.try_resize_for_overwrite(trie_.size())) return no_memory_for_added_tokens();
  link_nodes();
  backwards_ = Array<char>();  // {} would be an initializer list, whose copy may throw.
  return {};
}

// Computes the links of all nodes. The nodes lie level by level, so the links of a node's parent and of all nodes
// nearer to the root are known before the node's own link is computed.
void AddedTokens::link_nodes() {
  links_[TokenTrie::root] = {TokenTrie::root, -1};
  for (uint32_t node = 0; node < links_.size(); ++node) {
    for (uint32_t child = trie_.first_child(node); child < trie_.first_child(node + 1); ++child) {
      uint32_t shorter = TokenTrie::root;
      for (uint32_t from = node; from != TokenTrie::root && shorter == TokenTrie::root;) {
        from = links_[from].shorter;
        const uint32_t next = trie_.child(from, trie_.label(child));
        if (next != TokenTrie::none) shorter = next;
      }
      links_[child] = {shorter, trie_.token(child) >= 0 ? trie_.token(child) : links_[shorter].longest};
    }
  }
}

bool AddedTokens::find(std::string_view text, FoundTokens* found) const {
  found->places.clear();
  found->next = 0;
  if (tokens_.empty()) return true;
  if (text.size() > UINT32_MAX) return false;
  auto& places = found->places;
  uint32_t node = TokenTrie::root;
  for (size_t at = text.size(); at-- > 0;) {
    const auto byte = static_cast<uint8_t>(text[at]);
    uint32_t next = trie_.child(node, byte);
    for (++found->steps; next == TokenTrie::none && node != TokenTrie::root; ++found->steps) {
      node = links_[node].shorter;
      next = trie_.child(node, byte);
    }
    node = next == TokenTrie::none ? TokenTrie::root : next;
    const int32_t longest = links_[node].longest;
    if (longest >= 0 && !places.try_push({static_cast<uint32_t>(at), longest})) return false;
  }
  // Goes from the text's beginning to its end, and drops tokens that overlap the token kept before them.
  std::reverse(places.begin(), places.end());
  size_t kept = 0, end = 0;
  for (const FoundTokens::Place place : places) {
    if (place.begin < end) continue;
    end = place.begin + tokens_[static_cast<size_t>(place.token)].bytes;
    places[kept++] = place;
  }
  places.truncate(kept);
  return true;
}

bool AddedTokens::next(std::string_view text, size_t strip_left_limit, bool match_special, FoundTokens* found,
                       Match* match) const {
  while (found->next < found->places.size()) {
    const FoundTokens::Place place = found->places[found->next++];
    const Token& token = tokens_[static_cast<size_t>(place.token)];
    size_t begin = place.begin, end = begin + token.bytes;
    // The characters of a skipped token still can't belong to another added token.
    if (token.special && !match_special) continue;
    if (token.single_word && ((begin > 0 && is_word_character(code_point_before(text, begin))) ||
                              (end < text.size() && is_word_character(code_point_at(text, end))))) {
      continue;
    }
    if (token.strip_left) {
      // White space that the match before has taken isn't taken again.
      if (begin < strip_left_limit) begin = strip_left_limit;
      if (begin >= end) continue;
      while (begin > strip_left_limit && is_white_space(code_point_before(text, begin))) {
        do {
          --begin;
        } while (is_continuation(text[begin]));
      }
    }
    if (token.strip_right) {
      for (size_t i = end; i < text.size() && is_white_space(next_code_point(text.data(), &i));) end = i;
    }
    *match = {&token, begin, end};
    return true;
  }
  return false;
}

}  // namespace LINFORMER_NAMESPACE
