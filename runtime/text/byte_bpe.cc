#include "text/byte_bpe.h"

#include <algorithm>

#include "base/description.h"
#include "base/random.h"
#include "text/byte_level.h"
#include "text/unicode.h"

namespace LINFORMER_NAMESPACE {
namespace {

// Up to here looking at every rank each time is faster than a heap; beyond, it would be quadratic.
constexpr size_t short_word = 48;
constexpr uint32_t none = UINT32_MAX;

}  // namespace

Status ByteBpe::create(const TokenizerDescription& description, uint64_t owner) {
  owner_ = owner;
  token_offsets_ = description.token_offsets;
  keep_unknown_ = description.unk >= 0;
  add_prefix_space_ = description.add_prefix_space;
  const size_t tokens = token_offsets_.size() - 1;
  const auto bytes_of = [&](uint32_t token) {
    return std::string_view(description.token_bytes.data() + token_offsets_[token],
                            token_offsets_[token + 1] - token_offsets_[token]);
  };

  std::fill(std::begin(byte_tokens_), std::end(byte_tokens_), -1);
  for (size_t token = 0; token < tokens; ++token) {
    const std::string_view bytes = bytes_of(static_cast<uint32_t>(token));
    if (bytes.size() != 1) continue;
    int32_t& slot = byte_tokens_[static_cast<uint8_t>(bytes[0])];
    if (slot < 0) slot = static_cast<int32_t>(token);
  }

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
    // A token thus always has the bytes that it covers, which offsets and decoding rely on.
    const std::string_view whole = bytes_of(result), first = bytes_of(left), second = bytes_of(right);
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
    size_t slot = slot_of(pair);
    for (++probes_; merges_[slot].rank != no_rank && merges_[slot].pair != pair; ++probes_) {
      slot = (slot + 1) & (capacity - 1);
    }
    merges_[slot] = {pair, static_cast<uint32_t>(rank), result};  // of a pair named twice the last one counts
  }
  return {};
}

size_t ByteBpe::slot_of(uint64_t pair) const {
  uint64_t mixed = (pair + offset_) * factor_;
  mixed = (mixed ^ mixed >> 32) * 0x9E3779B97F4A7C15u;
  return static_cast<size_t>(mixed >> 32) & (merges_.size() - 1);
}

const ByteBpe::Merge& ByteBpe::merge_of(int32_t left, int32_t right) const {
  static constexpr Merge absent_merge;
  if (left < 0 || right < 0) return absent_merge;
  const uint64_t pair = uint64_t{static_cast<uint32_t>(left)} << 32 | static_cast<uint32_t>(right);
  const size_t mask = merges_.size() - 1;
  for (size_t slot = slot_of(pair);; slot = (slot + 1) & mask) {
    const Merge& merge = merges_[slot];
    if (merge.pair == pair || merge.rank == no_rank) return merge;
  }
}

// Fills `symbols` with one symbol for each byte that has a token. False when there is no memory.
bool ByteBpe::start_word(std::string_view word, BpeWorkspace* workspace, bool* complete) const {
  auto& symbols = workspace->symbols;
  symbols.clear();
  if (!symbols.try_reserve(word.size())) return false;
  *complete = true;
  for (uint32_t i = 0; i < word.size(); ++i) {
    int32_t token = byte_tokens_[static_cast<uint8_t>(word[i])];
    if (token < 0) {
      *complete = false;
      if (!keep_unknown_) continue;
      token = unknown_piece;
    }
    if (!symbols.try_push({token, no_rank, i, i + 1, none, none})) return false;
  }
  for (size_t i = 0; i + 1 < symbols.size(); ++i) {
    symbols[i].rank = merge_of(symbols[i].token, symbols[i + 1].token).rank;
  }
  workspace->steps += symbols.size();
  return true;
}

void ByteBpe::merge_short(BpeWorkspace* workspace) const {
  auto& symbols = workspace->symbols;
  for (size_t count = symbols.size(); count > 1; symbols.truncate(--count)) {
    size_t best = 0;
    for (size_t i = 1; i + 1 < count; ++i) {
      if (symbols[i].rank < symbols[best].rank) best = i;
    }
    workspace->steps += count;
    if (symbols[best].rank == no_rank) return;
    symbols[best].token = static_cast<int32_t>(merge_of(symbols[best].token, symbols[best + 1].token).result);
    symbols[best].end = symbols[best + 1].end;
    std::memmove(&symbols[best + 1], &symbols[best + 2], (count - best - 2) * sizeof symbols[0]);
    if (best > 0) symbols[best - 1].rank = merge_of(symbols[best - 1].token, symbols[best].token).rank;
    symbols[best].rank = best + 2 < count ? merge_of(symbols[best].token, symbols[best + 1].token).rank : no_rank;
  }
}

bool ByteBpe::merge_long(BpeWorkspace* workspace) const {
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
    if (left.rank != rank) continue;  // merged away, or its neighbour has changed since
    auto& right = symbols[left.next];
    left.token = static_cast<int32_t>(merge_of(left.token, right.token).result);
    left.end = right.end;
    right.rank = no_rank;
    right.end = right.begin;  // marks it as gone
    left.next = right.next;
    left.rank = no_rank;
    if (left.next != none) {
      symbols[left.next].previous = at;
      left.rank = merge_of(left.token, symbols[left.next].token).rank;
      if (!enqueue(left.rank, at)) return false;
    }
    if (left.previous != none) {
      auto& before = symbols[left.previous];
      before.rank = merge_of(before.token, left.token).rank;
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

// Turns byte ranges into code point ranges while pieces are appended in order.
class ByteBpe::Cursor {
 public:
  // `virtual_bytes`: bytes at the beginning that add_prefix_space put there; they belong to the first code point.
  Cursor(std::string_view text, size_t virtual_bytes, Place place, Pieces* pieces)
      : text_(text),
        virtual_bytes_(virtual_bytes),
        origins_(place.origins),
        position_(place.position),
        pieces_(pieces) {}

  // Appends `token` for the bytes [begin, end), which lie behind those of the call before.
  bool append(int32_t token, size_t begin, size_t end) {
    if (origins_ != nullptr) {
      const size_t last = std::max(end, virtual_bytes_ + 1) - virtual_bytes_ - 1;
      const uint32_t first = origins_[std::max(begin, virtual_bytes_) - virtual_bytes_];
      return pieces_->pieces.try_push({token, first, origins_[last] + 1});
    }
    count_to(begin);
    const uint32_t first = at_ < text_.size() && is_continuation(text_[at_]) ? position_ - 1 : position_;
    count_to(end);
    return pieces_->pieces.try_push({token, first, std::max(position_, first + 1)});
  }

 private:
  void count_to(size_t end) {
    for (; at_ < end; ++at_) position_ += at_ >= virtual_bytes_ && !is_continuation(text_[at_]);
  }
  std::string_view text_;
  size_t virtual_bytes_;
  const uint32_t* origins_;
  size_t at_ = 0;
  uint32_t position_;
  Pieces* pieces_;
};

bool ByteBpe::tokenize_word(std::string_view word, size_t start, BpeWorkspace* workspace, Cursor* cursor) const {
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
    WordCache::forget(slot);  // until the tokens are known
  }
  bool complete = false;
  if (!start_word(word, workspace, &complete)) return false;
  const auto& symbols = workspace->symbols;
  if (symbols.size() <= short_word) {
    merge_short(workspace);
  } else if (!merge_long(workspace)) {
    return false;
  }
  for (const auto& symbol : symbols) {
    if (!cursor->append(symbol.token, start + symbol.begin, start + symbol.end)) return false;
  }
  if (slot != nullptr && complete && symbols.size() <= WordCache::max_tokens) {
    slot->length = static_cast<uint8_t>(word.size());
    slot->count = static_cast<uint8_t>(symbols.size());
    for (size_t i = 0; i < symbols.size(); ++i) slot->tokens[i] = symbols[i].token;
  }
  return true;
}

bool ByteBpe::tokenize(std::string_view text, Place place, BpeWorkspace* workspace, Pieces* pieces) const {
  if (text.empty()) return true;
  if (!workspace->cache.prepare(owner_)) return false;
  size_t virtual_bytes = 0;
  if (add_prefix_space_ && text[0] != ' ') {
    auto& prefixed = workspace->prefixed;
    prefixed.clear();
    if (!prefixed.try_push(' ') || !prefixed.try_append(text.data(), text.size())) return false;
    text = {prefixed.data(), prefixed.size()};
    virtual_bytes = 1;
  }
  Cursor cursor(text, virtual_bytes, place, pieces);
  for (size_t at = 0; at < text.size();) {
    const size_t end = word_end(text, at);
    if (!pieces->start_word() || !tokenize_word(text.substr(at, end - at), at, workspace, &cursor)) return false;
    at = end;
  }
  return true;
}

}  // namespace LINFORMER_NAMESPACE
