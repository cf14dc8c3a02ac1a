// A cache of the tokens of recent short words. Its size is fixed: each hash has one slot, which keeps the newest word.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

#include "base/array.h"
#include "linformer/version.h"

namespace LINFORMER_NAMESPACE {

class WordCache {
 public:
  static constexpr size_t max_word_bytes = 24;
  static constexpr size_t max_tokens = 7;
  struct Slot {
    uint64_t words[3] = {};  // The word's bytes, padded with zeros.
    uint8_t length = 0;      // In bytes; 0 if the slot is empty.
    uint8_t count = 0;
    int32_t tokens[max_tokens] = {};
  };

  // Empties the cache unless the same `owner` has filled it. Returns false if there is no memory.
  [[nodiscard]] bool clear_unless_owned_by(uint64_t owner) {
    if (owner == owner_ && !slots_.empty()) return true;
    owner_ = owner;
    return slots_.try_assign(slot_count, Slot{});
  }

  // Returns the slot for `word`, which has 1 to max_word_bytes bytes, and sets *found to whether the slot holds the
  // word's tokens. If it doesn't, find() has already written the word into the slot: the caller must fill in tokens and
  // count, or call forget().
  Slot* find(std::string_view word, bool* found) {
    uint64_t words[3] = {};
    std::memcpy(words, word.data(), word.size());
    uint64_t hash = words[0] * 0x9E3779B97F4A7C15u;
    hash = (hash ^ hash >> 29 ^ words[1]) * 0xBF58476D1CE4E5B9u;
    hash = (hash ^ hash >> 32 ^ words[2]) * 0x94D049BB133111EBu;
    hash ^= word.size() * 0xD6E8FEB86659FD93u;
    Slot* slot = &slots_[static_cast<size_t>(hash >> 32) % slot_count];
    *found = slot->length == word.size() && slot->words[0] == words[0] && slot->words[1] == words[1] &&
             slot->words[2] == words[2];
    if (!*found) {
      std::memcpy(slot->words, words, sizeof words);
      slot->length = static_cast<uint8_t>(word.size());
      slot->count = 0;
    }
    return slot;
  }
  static void forget(Slot* slot) { slot->length = 0; }

 private:
  static constexpr size_t slot_count = 8192;
  Array<Slot> slots_;
  uint64_t owner_ = 0;
};

}  // namespace LINFORMER_NAMESPACE
