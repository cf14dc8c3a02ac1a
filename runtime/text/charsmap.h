// SentencePiece's compiled normalisation rules: a double-array trie of what is replaced, and the replacements.
//
// The bytes come from a file and may be anything: every access is checked, a walk ends after max_rule_bytes.
// Layout: u32 size of the trie in bytes, the trie's u32 units, then replacements, each ended by a zero byte.
// Source: Kudo 2018 (SentencePiece), Yata's Darts-clone (the units' bits).
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "linformer/status.h"
#include "linformer/version.h"

namespace LINFORMER_NAMESPACE {

// No rule is longer: searching all of a text costs at most its bytes times this.
inline constexpr size_t max_rule_bytes = 256;
// No replacement is longer, so that a small text cannot become a huge one.
inline constexpr size_t max_replacement_bytes = 1024;

class Charsmap {
 public:
  // `bytes` must outlive this; empty = no rules.
  Status create(std::span<const uint8_t> bytes);
  bool empty() const { return units_.empty(); }

  // The rule for the shortest (or longest) beginning of `text` that has one; false when none has.
  // *length is that beginning's bytes. The replacement is valid UTF-8.
  bool find_shortest(std::string_view text, size_t* length, std::string_view* replacement) const {
    return find(text, true, length, replacement);
  }
  bool find_longest(std::string_view text, size_t* length, std::string_view* replacement) const {
    return find(text, false, length, replacement);
  }

 private:
  bool find(std::string_view text, bool shortest, size_t* length, std::string_view* replacement) const;
  uint32_t unit(size_t index) const;
  size_t unit_count() const { return units_.size() / 4; }

  std::span<const uint8_t> units_;
  std::string_view replacements_;
};

}  // namespace LINFORMER_NAMESPACE
