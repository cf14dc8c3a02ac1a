#include "text/bpe.h"

#include <algorithm>

#include "base/description.h"
#include "base/random.h"
#include "text/bpe_cursor.h"
#include "text/unicode.h"
#include "text/word_patterns.h"

namespace LINFORMER_NAMESPACE {
namespace {

// Up to this many symbols, reading all ranks for each merge is faster than a heap. In longer words it would take
// quadratic time.
constexpr size_t short_word = 48;
constexpr uint32_t none = UINT32_MAX;

std::string_view bytes_of(const TokenizerDescription& description, uint32_t token) {
  const uint32_t begin = description.token_offsets[token];
  return {description.token_bytes.data() + begin, description.token_offsets[token + 1] - begin};
}

bool is_one_character(std::string_view bytes) {
  if (bytes.empty() || bytes.size() > 4 || valid_utf8_prefix(bytes) != bytes.size()) return false;
  size_t end = 0;
  next_code_point(bytes.data(), &end);
  return end == bytes.size();
}

// Returns the position of the first mark (U+2581) from text[from] on that follows a character other than a mark, or the
// text's size if there is no such mark.
size_t next_mark(std::string_view text, size_t from) {
  for (size_t at = text.find(space_mark, from); at != std::string_view::npos; at = text.find(space_mark, at + 1)) {
    if (at > 0 && !text.substr(0, at).ends_with(space_mark)) return at;
  }
  return text.size();
}

bool merges_over_marks(const TokenizerDescription& description) {
  for (size_t i = 2; i < description.merges.size(); i += 3) {
    const std::string_view result = bytes_of(description, description.merges[i]);
    if (next_mark(result, 0) != result.size()) return true;
  }
  return false;
}

}  // namespace

Status Bpe::create(const TokenizerDescription& description, uint64_t owner) {
  owner_ = owner;
  const TokenizerRules& rules = description.rules;
  characters_ = description.kind == TokenizerKind::bpe;
  token_offsets_ = description.token_offsets;
  keep_unknown_ = description.unk >= 0;
  fuse_unknown_ = rules.fuse_unknown;
  add_prefix_space_ = description.add_prefix_space;
  keep_parts_ = rules.keep_parts;
  ignore_merges_ = rules.ignore_merges;
  mark_spaces_ = rules.mark_spaces;
  split_words_ = rules.split_words;
  prefix_mark_ = rules.prefix_mark;
  LINFORMER_TRY(splitter_.create(rules));
  LINFORMER_TRY(create_symbol_tables(description));
  LINFORMER_TRY(create_merge_table(description));
  // If unknown characters were left out, the marks before and after such a character would become neighbours and might
  // be merged.
  words_end_at_marks_ = characters_ && !ignore_merges_ && (keep_unknown_ || byte_fallback_) &&
                        tokens_.find(space_mark) >= 0 && !merges_over_marks(description);
  return {};
}

// Collects the tokens that a word consists of before any merge, and the tokens that are looked up by their bytes.
Status Bpe::create_symbol_tables(const TokenizerDescription& description) {
  const TokenizerRules& rules = description.rules;
  const size_t tokens = token_offsets_.size() - 1;
  std::fill(std::begin(byte_tokens_), std::end(byte_tokens_), -1);
  Array<TokenTrie::Entry> entries;
  size_t fallbacks = 0;
  for (size_t token = 0; token < tokens; ++token) {
    const std::string_view bytes = bytes_of(description, static_cast<uint32_t>(token));
    const int byte = !characters_          ? (bytes.size() == 1 ? static_cast<uint8_t>(bytes[0]) : -1)
                     : rules.byte_fallback ? parse_byte_token(bytes)
                                           : -1;
    if (byte >= 0 && byte_tokens_[byte] < 0) {
      byte_tokens_[byte] = static_cast<int32_t>(token);
      ++fallbacks;
    }
    const int32_t id = description.token_ids.empty() ? static_cast<int32_t>(token) : description.token_ids[token];
    if (characters_ && unknown_ == unknown_piece && id >= 0 && id == description.unk) {
      unknown_ = static_cast<int32_t>(token);
    }
    const bool hidden = !rules.token_uses.empty() && token < rules.token_uses.size() &&
                        rules.token_uses[token] != static_cast<uint8_t>(TokenUse::normal);
    if (hidden || !(ignore_merges_ || (characters_ && is_one_character(bytes)))) continue;
    if (bytes.size() > max_merged_bytes) {
      return Status::error(Code::unsupported, "the tokenizer's token %zu has %zu bytes; at most %zu are supported",
                           token, bytes.size(), max_merged_bytes);
    }
    if (!entries.try_push({bytes, static_cast<int32_t>(token)})) {
      return Status::error(Code::out_of_memory, "no memory for the tokenizer's tokens");
    }
  }
  if (characters_ && rules.byte_fallback) {
    if (fallbacks != std::size(byte_tokens_)) {
      return Status::error(Code::unsupported,
                           "the tokenizer has byte_fallback, but only %zu of the tokens <0x00> to <0xFF>: add the "
                           "others or leave byte_fallback out",
                           fallbacks);
    }
    byte_fallback_ = true;
  }
  return tokens_.create(&entries);
}

Status Bpe::create_merge_table(const TokenizerDescription& description) {
  const size_t tokens = token_offsets_.size() - 1;
  const size_t count = description.merges.size() / 3;
  offset_ = random_number();
  factor_ = random_number() | 1;
  size_t capacity = 16;
  while (capacity < 2 * count + 2) capacity *= 2;
  if (!merges_.try_assign(capacity, Merge{})) {
    return Status::error(Code::out_of_memory, "no memory for the tokenizer's %zu merges", count);
  }
  for (size_t rank = 0; rank < count; ++rank) {
    const uint32_t left = description.merges[3 * rank];
    const uint32_t right = description.merges[3 * rank + 1];
    const uint32_t result = description.merges[3 * rank + 2];
    if (left >= tokens || right >= tokens || result >= tokens) {
      return Status::error(Code::corrupt_file, "the tokenizer's merge %zu names a token beyond its %zu tokens", rank,
                           tokens);
    }
    // After this check a token has the same bytes as the characters that it stands for. Offsets and decoding rely on
    // this.
    const std::string_view whole = bytes_of(description, result);
    const std::string_view first = bytes_of(description, left), second = bytes_of(description, right);
    if (whole.size() > max_merged_bytes) {
      return Status::error(Code::unsupported,
                           "the tokenizer's merge %zu makes a token of %zu bytes; at most %zu are "
                           "supported",
                           rank, whole.size(), max_merged_bytes);
    }
    if (first.empty() || second.empty() || whole.size() != first.size() + second.size() ||
        whole.substr(0, first.size()) != first || whole.substr(first.size()) != second) {
      return Status::error(Code::corrupt_file,
                           "the tokenizer's merge %zu does not join tokens %u and %u into the bytes of token %u", rank,
                           left, right, result);
    }
    const uint64_t pair = uint64_t{left} << 32 | right;
    size_t slot = hash_slot(pair);
    for (++probes_; merges_[slot].rank != no_rank && merges_[slot].pair != pair; ++probes_) {
      slot = (slot + 1) & (capacity - 1);
    }
    merges_[slot] = {pair, static_cast<uint32_t>(rank), result};  // If a pair is listed twice, the last merge is kept.
  }
  return {};
}

size_t Bpe::hash_slot(uint64_t pair) const {
  uint64_t mixed = (pair + offset_) * factor_;
  mixed = (mixed ^ mixed >> 32) * 0x9E3779B97F4A7C15u;
  return static_cast<size_t>(mixed >> 32) & (merges_.size() - 1);
}

const Bpe::Merge& Bpe::find_merge(int32_t left, int32_t right) const {
  static constexpr Merge absent_merge;
  if (left < 0 || right < 0) return absent_merge;
  const uint64_t pair = uint64_t{static_cast<uint32_t>(left)} << 32 | static_cast<uint32_t>(right);
  const size_t mask = merges_.size() - 1;
  for (size_t slot = hash_slot(pair);; slot = (slot + 1) & mask) {
    const Merge& merge = merges_[slot];
    if (merge.pair == pair || merge.rank == no_rank) return merge;
  }
}

bool Bpe::push_unknown(uint32_t begin, uint32_t end, BpeWorkspace* workspace) const {
  auto& symbols = workspace->symbols;
  if (!keep_unknown_) return true;
  const bool fuses = fuse_unknown_ && !symbols.empty() && workspace->unknown_end == begin;
  workspace->unknown_end = end;
  if (!fuses) return symbols.try_push({unknown_, no_rank, begin, end, none, none});
  symbols.back().end = end;
  return true;
}

bool Bpe::push_bytes(std::string_view word, BpeWorkspace* workspace, bool* cacheable) const {
  for (uint32_t i = 0; i < word.size(); ++i) {
    const int32_t token = byte_tokens_[static_cast<uint8_t>(word[i])];
    if (token >= 0) {
      if (!workspace->symbols.try_push({token, no_rank, i, i + 1, none, none})) return false;
      continue;
    }
    *cacheable = false;
    if (!push_unknown(i, i + 1, workspace)) return false;
  }
  return true;
}

bool Bpe::push_characters(std::string_view word, BpeWorkspace* workspace, bool* cacheable) const {
  for (size_t at = 0; at < word.size();) {
    const auto begin = static_cast<uint32_t>(at);
    next_code_point(word.data(), &at);
    const auto end = static_cast<uint32_t>(at);
    const int32_t token = tokens_.find(word.substr(begin, end - begin));
    if (token >= 0) {
      if (!workspace->symbols.try_push({token, no_rank, begin, end, none, none})) return false;
      continue;
    }
    *cacheable = false;
    if (!byte_fallback_) {
      if (!push_unknown(begin, end, workspace)) return false;
      continue;
    }
    for (uint32_t i = begin; i < end; ++i) {
      const int32_t byte = byte_tokens_[static_cast<uint8_t>(word[i])];
      if (!workspace->symbols.try_push({byte, no_rank, i, i + 1, none, none})) return false;
    }
  }
  return true;
}

// Fills `symbols` with the symbols of the word before any merge. Sets *cacheable to whether each byte or character has
// a token of its own: none is unknown, split into bytes or dropped. Returns false if there is no memory.
bool Bpe::split_into_symbols(std::string_view word, BpeWorkspace* workspace, bool* cacheable) const {
  auto& symbols = workspace->symbols;
  symbols.clear();
  workspace->unknown_end = 0;
  *cacheable = true;
  if (!(characters_ ? push_characters(word, workspace, cacheable) : push_bytes(word, workspace, cacheable)))
    return false;
  for (size_t i = 0; i + 1 < symbols.size(); ++i) {
    symbols[i].rank = find_merge(symbols[i].token, symbols[i + 1].token).rank;
  }
  workspace->steps += symbols.size();
  return true;
}

void Bpe::merge_short_word(BpeWorkspace* workspace) const {
  auto& symbols = workspace->symbols;
  for (size_t count = symbols.size(); count > 1; symbols.truncate(--count)) {
    size_t best = 0;
    for (size_t i = 1; i + 1 < count; ++i) {
      if (symbols[i].rank < symbols[best].rank) best = i;
    }
    workspace->steps += count;
    if (symbols[best].rank == no_rank) return;
    symbols[best].token = static_cast<int32_t>(find_merge(symbols[best].token, symbols[best + 1].token).result);
    symbols[best].end = symbols[best + 1].end;
    std::memmove(&symbols[best + 1], &symbols[best + 2], (count - best - 2) * sizeof symbols[0]);
    if (best > 0) symbols[best - 1].rank = find_merge(symbols[best - 1].token, symbols[best].token).rank;
    symbols[best].rank = best + 2 < count ? find_merge(symbols[best].token, symbols[best + 1].token).rank : no_rank;
  }
}

bool Bpe::merge_long_word(BpeWorkspace* workspace) const {
  auto& symbols = workspace->symbols;
  auto& queue = workspace->queue;
  const auto later = [](uint64_t a, uint64_t b) { return a > b; };
  queue.clear();
  const auto count = static_cast<uint32_t>(symbols.size());
  for (uint32_t i = 0; i < count; ++i) {
    symbols[i].previous = i == 0 ? none : i - 1;
    symbols[i].next = i + 1 == count ? none : i + 1;
    if (symbols[i].rank != no_rank && !queue.try_push(uint64_t{symbols[i].rank} << 32 | i)) return false;
  }
  std::make_heap(queue.begin(), queue.end(), later);
  const auto enqueue = [&](uint32_t rank, uint32_t symbol) {
    if (rank == no_rank) return true;
    if (!queue.try_push(uint64_t{rank} << 32 | symbol)) return false;
    std::push_heap(queue.begin(), queue.end(), later);
    return true;
  };
  while (!queue.empty()) {
    ++workspace->steps;
    std::pop_heap(queue.begin(), queue.end(), later);
    const auto rank = static_cast<uint32_t>(queue.back() >> 32);
    const auto at = static_cast<uint32_t>(queue.back());
    queue.truncate(queue.size() - 1);
    auto& left = symbols[at];
    if (left.rank != rank) continue;  // The symbol was merged into another one, or its neighbour has changed.
    auto& right = symbols[left.next];
    left.token = static_cast<int32_t>(find_merge(left.token, right.token).result);
    left.end = right.end;
    right.rank = no_rank;
    right.end = right.begin;  // Marks the symbol as merged into another one.
    left.next = right.next;
    left.rank = no_rank;
    if (left.next != none) {
      symbols[left.next].previous = at;
      left.rank = find_merge(left.token, symbols[left.next].token).rank;
      if (!enqueue(left.rank, at)) return false;
    }
    if (left.previous != none) {
      auto& before = symbols[left.previous];
      before.rank = find_merge(before.token, left.token).rank;
      if (!enqueue(before.rank, left.previous)) return false;
    }
  }
  size_t kept = 0;
  for (uint32_t i = 0; i < count; ++i) {
    if (symbols[i].end != symbols[i].begin) symbols[kept++] = symbols[i];
  }
  symbols.truncate(kept);
  return true;
}

bool Bpe::tokenize_word(std::string_view word, size_t start, BpeWorkspace* workspace, BpeCursor* cursor) const {
  WordCache::Slot* slot = nullptr;
  if (word.size() <= WordCache::max_word_bytes) {
    bool found = false;
    slot = workspace->cache.find(word, &found);
    if (found) {
      size_t at = start;
      for (size_t i = 0; i < slot->count; ++i) {
        const auto token = static_cast<size_t>(slot->tokens[i]);
        const size_t length = token_offsets_[token + 1] - token_offsets_[token];
        if (!cursor->append(slot->tokens[i], at, at + length)) return false;
        at += length;
      }
      return true;
    }
    WordCache::forget(slot);  // The slot stays empty until the tokens are known.
  }
  bool cacheable = false;
  if (ignore_merges_) {
    if (const int32_t token = tokens_.find(word); token >= 0) {
      if (slot != nullptr) {
        slot->length = static_cast<uint8_t>(word.size());
        slot->count = 1;
        slot->tokens[0] = token;
      }
      return cursor->append(token, start, start + word.size());
    }
  }
  if (!split_into_symbols(word, workspace, &cacheable)) return false;
  const auto& symbols = workspace->symbols;
  if (symbols.size() <= short_word) {
    merge_short_word(workspace);
  } else if (!merge_long_word(workspace)) {
    return false;
  }
  for (const auto& symbol : symbols) {
    if (!cursor->append(symbol.token, start + symbol.begin, start + symbol.end)) return false;
  }
  if (slot != nullptr && cacheable && symbols.size() <= WordCache::max_tokens) {
    slot->length = static_cast<uint8_t>(word.size());
    slot->count = static_cast<uint8_t>(symbols.size());
    for (size_t i = 0; i < symbols.size(); ++i) slot->tokens[i] = symbols[i].token;
  }
  return true;
}

bool Bpe::tokenize_bytes(std::string_view part, Place place, BpeWorkspace* workspace, Pieces* pieces) const {
  size_t virtual_bytes = 0;
  if (add_prefix_space_ && part[0] != ' ') {
    auto& prefixed = workspace->prefixed;
    prefixed.clear();
    if (!prefixed.try_push(' ') || !prefixed.try_append(part.data(), part.size())) return false;
    part = {prefixed.data(), prefixed.size()};
    virtual_bytes = 1;
  }
  BpeCursor cursor(part, virtual_bytes, place, pieces);
  for (size_t at = 0; at < part.size();) {
    const size_t end = keep_parts_ ? part.size() : word_end(SplitKind::gpt2, part, at);
    if (!pieces->start_word() || !tokenize_word(part.substr(at, end - at), at, workspace, &cursor)) return false;
    at = end;
  }
  return true;
}

// Tokenizes a word that begins at byte `start` of the cursor's text. Splits it at marks if words_end_at_marks_ is true.
bool Bpe::tokenize_marked(std::string_view word, size_t start, BpeWorkspace* workspace, BpeCursor* cursor) const {
  if (!words_end_at_marks_) return tokenize_word(word, start, workspace, cursor);
  for (size_t at = 0; at < word.size();) {
    const size_t end = next_mark(word, at + 1);
    if (!tokenize_word(word.substr(at, end - at), start + at, workspace, cursor)) return false;
    at = end;
  }
  return true;
}

bool Bpe::tokenize_characters(std::string_view part, Place place, BpeWorkspace* workspace, Pieces* pieces) const {
  if (mark_spaces_) {
    NormalizedText& marked = workspace->marked;
    if (!mark_spaces(part, place.origins, prefix_mark_, &marked)) return false;
    part = marked.view();
    place.origins = marked.origins.data();
  }
  BpeCursor cursor(part, 0, place, pieces);
  for (size_t at = 0; at < part.size();) {
    const size_t end = split_words_ ? std::min(part.find(space_mark, at + 1), part.size()) : part.size();
    if (!pieces->start_word() || !tokenize_marked(part.substr(at, end - at), at, workspace, &cursor)) return false;
    at = end;
  }
  return true;
}

bool Bpe::tokenize(std::string_view text, Place place, BpeWorkspace* workspace, Pieces* pieces) const {
  if (text.empty()) return true;
  if (!workspace->cache.clear_unless_owned_by(owner_)) return false;
  size_t counted = 0;  // The number of bytes of `text` that place.position has counted.
  return splitter_.split(text, 0, text.size(), [&](size_t begin, size_t end) {
    const std::string_view part = text.substr(begin, end - begin);
    if (place.origins != nullptr) {
      const Place origins = {0, place.origins + begin};
      return characters_ ? tokenize_characters(part, origins, workspace, pieces)
                         : tokenize_bytes(part, origins, workspace, pieces);
    }
    place.position += count_code_points(text.substr(counted, begin - counted));
    counted = begin;
    return tokenize_bytes(part, place, workspace, pieces);
  });
}

}  // namespace LINFORMER_NAMESPACE
