// SentencePiece's compiled normalisation rules: a double-array trie of the strings that are replaced, and the
// replacements.
//
// The bytes come from a file and may have any value: every access is checked, and a search ends after max_rule_bytes.
// Layout: the size of the trie in bytes (u32), the trie's units (u32), then the replacements, each of which ends with a
// zero byte. Sources: Kudo 2018 (SentencePiece), and Yata's Darts-clone for the bits of a unit.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "linformer/status.h"
#include "linformer/version.h"

namespace LINFORMER_NAMESPACE {

// The longest string that a rule may replace. A search at each byte of a text takes at most this many steps.
inline constexpr size_t max_rule_bytes = 256;
// The longest replacement. The limit keeps a small text from becoming a huge one.
inline constexpr size_t max_replacement_bytes = 1024;

class Charsmap {
 public:
  // `bytes` must outlive this object. If `bytes` is empty, there are no rules.
  Status create(std::span<const uint8_t> bytes);
  bool empty() const { return units_.empty(); }

  // These two find the shortest (or longest) beginning of `text` for which there is a rule, and return false if there
  // is none. They set *length to the number of bytes of the beginning. The replacement is valid UTF-8.
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
