#include "text/wordpiece.h"

#include <algorithm>

#include "base/description.h"
#include "base/random.h"
#include "text/bert_unicode.h"
#include "text/unicode.h"

namespace LINFORMER_NAMESPACE {

Status WordPiece::create(const TokenizerDescription& description, uint64_t owner) {
  owner_ = owner;
  token_bytes_ = description.token_bytes;
  token_offsets_ = description.token_offsets;
  max_word_characters_ = description.max_word_characters;
  if (description.unk < 0) {
    return Status::error(Code::corrupt_file, "the WordPiece tokenizer has no id for unknown words");
  }
  if (description.max_word_characters > max_word_length) {
    return Status::error(Code::unsupported,
                         "the WordPiece tokenizer splits words of up to %u characters; at most %u are supported",
                         description.max_word_characters, max_word_length);
  }
  const auto& prefix = description.continuing_prefix;
  const size_t tokens = token_offsets_.size() - 1;
  size_t capacity = 16;
  while (capacity < 2 * tokens + 2) capacity *= 2;
  if (!entries_.try_assign(capacity, Entry{}) || !continuing_prefix_.try_append(prefix.data(), prefix.size())) {
    return Status::error(Code::out_of_memory, "no memory for the tokenizer's %zu tokens", tokens);
  }
  point_ = 512 + random_number() % (prime - 512);
  factor_ = random_number() | 1;
  continuing_hash_ = extend_hash(empty_hash, prefix);
  longest_token_ = 0;
  for (size_t token = 0; token < tokens; ++token) {
    const std::string_view bytes = bytes_of(token);
    longest_token_ = std::max(longest_token_, bytes.size());
    const uint32_t hash = final_hash(extend_hash(empty_hash, bytes));
    size_t slot = hash & (capacity - 1);
    for (++probes_; entries_[slot].token >= 0 &&
                    (entries_[slot].hash != hash || bytes_of(static_cast<size_t>(entries_[slot].token)) != bytes);
         ++probes_) {
      slot = (slot + 1) & (capacity - 1);
    }
    entries_[slot] = {hash, static_cast<int32_t>(token)};  // If a token is listed twice, the last one is kept.
  }
  return {};
}

int32_t WordPiece::find(uint64_t hash, std::string_view piece, bool continuing) const {
  const uint32_t wanted = final_hash(hash);
  const size_t mask = entries_.size() - 1;
  for (size_t slot = wanted & mask; entries_[slot].token >= 0; slot = (slot + 1) & mask) {
    if (entries_[slot].hash != wanted) continue;
    std::string_view bytes = bytes_of(static_cast<size_t>(entries_[slot].token));
    if (continuing) {
      const std::string_view prefix(continuing_prefix_.data(), continuing_prefix_.size());
      if (bytes.substr(0, prefix.size()) != prefix) continue;
      bytes.remove_prefix(prefix.size());
    }
    if (bytes == piece) return entries_[slot].token;
  }
  return -1;
}

bool WordPiece::split_word(std::string_view word, WordPieceWorkspace* workspace) const {
  workspace->tokens.clear();
  workspace->ends.clear();
  size_t characters = 0;
  for (char byte : word) characters += !is_continuation(byte);
  if (characters > max_word_characters_) return true;
  for (size_t begin = 0; begin < word.size();) {
    const bool continuing = begin > 0;
    uint64_t hash = continuing ? continuing_hash_ : empty_hash;
    int32_t longest = -1;
    size_t longest_end = begin;
    const size_t limit = std::min(word.size(), begin + longest_token_);
    for (size_t end = begin; end < limit;) {
      do {
        hash = extend_hash(hash, word[end++]);
      } while (end < word.size() && is_continuation(word[end]));
      ++workspace->steps;
      const int32_t token = find(hash, word.substr(begin, end - begin), continuing);
      if (token >= 0) {
        longest = token;
        longest_end = end;
      }
    }
    if (longest < 0) {
      workspace->tokens.clear();
      workspace->ends.clear();
      return true;
    }
    if (!workspace->tokens.try_push(longest) || !workspace->ends.try_push(static_cast<uint32_t>(longest_end)))
      return false;
    begin = longest_end;
  }
  return true;
}

bool WordPiece::tokenize_word(const NormalizedText& normalized, size_t begin, size_t end, WordPieceWorkspace* workspace,
                              Pieces* pieces) const {
  if (!pieces->start_word()) return false;
  const std::string_view word = normalized.view().substr(begin, end - begin);
  const auto append = [&](int32_t token, size_t first, size_t last) {
    return pieces->pieces.try_push(
        {token, normalized.origins[begin + first], normalized.origins[begin + last - 1] + 1});
  };
  WordCache::Slot* slot = nullptr;
  if (word.size() <= WordCache::max_word_bytes) {
    bool found = false;
    slot = workspace->cache.find(word, &found);
    if (found) {
      if (slot->count == 0) return append(unknown_piece, 0, word.size());
      for (size_t i = 0, at = 0; i < slot->count; ++i) {
        const size_t length =
            bytes_of(static_cast<size_t>(slot->tokens[i])).size() - (i > 0 ? continuing_prefix_.size() : 0);
        if (!append(slot->tokens[i], at, at + length)) return false;
        at += length;
      }
      return true;
    }
    WordCache::forget(slot);  // The slot stays empty until the tokens are known.
  }
  if (!split_word(word, workspace)) return false;
  const auto& tokens = workspace->tokens;
  if (slot != nullptr && tokens.size() <= WordCache::max_tokens) {
    slot->length = static_cast<uint8_t>(word.size());
    slot->count = static_cast<uint8_t>(tokens.size());
    std::copy(tokens.begin(), tokens.end(), slot->tokens);
  }
  if (tokens.empty()) return append(unknown_piece, 0, word.size());
  for (size_t i = 0; i < tokens.size(); ++i) {
    if (!append(tokens[i], i == 0 ? 0 : workspace->ends[i - 1], workspace->ends[i])) return false;
  }
  return true;
}

bool WordPiece::tokenize(const NormalizedText& normalized, size_t begin, size_t end, WordPieceWorkspace* workspace,
                         Pieces* pieces) const {
  if (!workspace->cache.clear_unless_owned_by(owner_)) return false;
  const char* text = normalized.bytes.data();
  size_t word = begin;
  for (size_t at = begin; at < end;) {
    const size_t character = at;
    const uint32_t code_point = next_code_point(text, &at);
    const bool space = is_white_space(code_point);
    if (!space && !is_bert_punctuation(code_point)) continue;
    if (word < character && !tokenize_word(normalized, word, character, workspace, pieces)) return false;
    if (!space && !tokenize_word(normalized, character, at, workspace, pieces)) return false;
    word = at;
  }
  return word >= end || tokenize_word(normalized, word, end, workspace, pieces);
}

}  // namespace LINFORMER_NAMESPACE
