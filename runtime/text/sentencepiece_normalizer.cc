#include "text/sentencepiece_normalizer.h"

#include <algorithm>

#include "base/description.h"
#include "text/unicode.h"

namespace LINFORMER_NAMESPACE {
namespace {

constexpr size_t max_normalized_bytes = size_t{1} << 31;

}  // namespace

Status SentencePieceNormalizer::create(const TokenizerDescription& description) {
  const TokenizerRules& unigram = description.rules;
  LINFORMER_TRY(charsmap_.create(unigram.charsmap));
  mark_spaces_ = unigram.mark_spaces;
  remove_extra_spaces_ = unigram.remove_extra_spaces;
  add_mark_ = unigram.prefix_mark != PrefixMark::never;
  mark_behind_ = unigram.mark_behind;
  Array<TokenTrie::Entry> entries;
  for (size_t token = 0; token < unigram.token_uses.size(); ++token) {
    if (unigram.token_uses[token] != static_cast<uint8_t>(TokenUse::user_defined)) continue;
    const uint32_t begin = description.token_offsets[token];
    const std::string_view bytes(description.token_bytes.data() + begin, description.token_offsets[token + 1] - begin);
    if (valid_utf8_prefix(bytes) != bytes.size()) {
      return Status::error(Code::corrupt_file, "the tokenizer's user-defined token %zu is not valid UTF-8", token);
    }
    if (!entries.try_push({bytes, static_cast<int32_t>(token)})) {
      return Status::error(Code::out_of_memory, "no memory for the tokenizer's user-defined tokens");
    }
  }
  has_user_defined_ = !entries.empty();
  return has_user_defined_ ? user_defined_.create(&entries) : Status();
}

std::string_view SentencePieceNormalizer::normalize_next(std::string_view text, size_t* length) const {
  if (has_user_defined_) {
    size_t longest = 0;
    uint32_t node = TokenTrie::root;
    for (size_t i = 0; i < text.size(); ++i) {
      node = user_defined_.child(node, static_cast<uint8_t>(text[i]));
      if (node == TokenTrie::none) break;
      if (user_defined_.token(node) >= 0) longest = i + 1;
    }
    if (longest > 0) {
      *length = longest;
      return text.substr(0, longest);
    }
  }
  std::string_view replacement;
  if (charsmap_.find_longest(text, length, &replacement)) {
    // A damaged rule may end inside a character.
    while (*length < text.size() && is_continuation(text[*length])) ++*length;
    return replacement;
  }
  *length = 0;
  next_code_point(text.data(), length);
  return text.substr(0, *length);
}

bool SentencePieceNormalizer::append(std::string_view part, uint32_t origin, NormalizedText* normalized) const {
  if (part.size() > normalized->limit - std::min(normalized->limit, normalized->bytes.size())) {
    normalized->too_long = true;
    return false;
  }
  if (!normalized->bytes.try_append(part.data(), part.size())) return false;
  for (size_t i = 0; i < part.size(); ++i) {
    if (!normalized->origins.try_push(origin)) return false;
  }
  return true;
}

bool SentencePieceNormalizer::append_space(uint32_t origin, NormalizedText* normalized) const {
  return append(mark_spaces_ ? space_mark : std::string_view(" "), origin, normalized);
}

bool SentencePieceNormalizer::normalize(std::string_view text, uint32_t position, NormalizedText* normalized) const {
  auto& bytes = normalized->bytes;
  bytes.clear();
  normalized->origins.clear();
  normalized->too_long = false;
  normalized->limit = std::min(max_growth * text.size(), max_normalized_bytes);
  const auto consume = [&](size_t length) {
    position += count_code_points(text.substr(0, length));
    text.remove_prefix(length);
  };
  size_t length = 0;
  while (remove_extra_spaces_ && !text.empty() && normalize_next(text, &length) == " ") consume(length);
  if (!text.empty()) {
    if (!mark_behind_ && add_mark_ && !append_space(position, normalized)) return false;
    bool after_space = remove_extra_spaces_;
    while (!text.empty()) {
      std::string_view part = normalize_next(text, &length);
      while (after_space && !part.empty() && part[0] == ' ') part.remove_prefix(1);
      if (!part.empty()) after_space = remove_extra_spaces_ && part.back() == ' ';
      for (size_t at = 0; at < part.size();) {
        const size_t space = mark_spaces_ ? std::min(part.find(' ', at), part.size()) : part.size();
        if (!append(part.substr(at, space - at), position, normalized)) return false;
        if (space < part.size() && !append_space(position, normalized)) return false;
        at = space + 1;
      }
      consume(length);
    }
    const std::string_view space = mark_spaces_ ? space_mark : std::string_view(" ");
    while (remove_extra_spaces_ && normalized->view().ends_with(space)) {
      bytes.truncate(bytes.size() - space.size());
      position = normalized->origins[bytes.size()];
      normalized->origins.truncate(bytes.size());
    }
    if (mark_behind_ && add_mark_ && !append_space(position, normalized)) return false;
  }
  return normalized->origins.try_push(position);
}

}  // namespace LINFORMER_NAMESPACE
