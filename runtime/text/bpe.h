// Byte-pair encoding: makes internal tokens of a word's bytes (GPT-2) or characters by merging pairs in the order of
// the merges' ranks.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/array.h"
#include "base/description.h"
#include "linformer/status.h"
#include "linformer/version.h"
#include "text/bpe_cursor.h"
#include "text/normalized_text.h"
#include "text/pieces.h"
#include "text/space_marks.h"
#include "text/splitter.h"
#include "text/token_trie.h"
#include "text/word_cache.h"

namespace LINFORMER_NAMESPACE {

// Memory that a call needs and that later calls reuse.
struct BpeWorkspace {
  struct Symbol {
    int32_t token;
    uint32_t rank;        // The rank of the merge with the next symbol; no_rank if there is none.
    uint32_t begin, end;  // In bytes of the word.
    uint32_t previous, next;
  };
  Array<Symbol> symbols;
  size_t unknown_end = 0;  // Where the word's last unknown symbol ends, in bytes, while symbols are collected.
  Array<uint64_t> queue;   // A min-heap of rank << 32 | symbol.
  Array<char> prefixed;    // A text with the space that add_prefix_space puts before it.
  NormalizedText marked;   // A text with U+2581 for its spaces.
  WordCache cache;
  uint64_t steps = 0;  // The number of merges looked at, so that tests can bound the work without a clock.
};

// The longest token that a merge may make. It bounds the time to check each merge of a file.
inline constexpr size_t max_merged_bytes = 4096;

class Bpe {
 public:
  // The views of `description` must outlive this object. `owner` identifies the tokenizer to word caches.
  Status create(const TokenizerDescription& description, uint64_t owner);

  // Returns the number of slots of the hash table that create() looked at, so that tests can bound the work without a
  // clock.
  uint64_t hash_probes() const { return probes_; }

  using Place = BpePlace;
  // Appends the pieces of `text`, which is valid UTF-8. If BPE begins with characters, the place must have origins.
  // Returns false if there is no memory.
  [[nodiscard]] bool tokenize(std::string_view text, Place place, BpeWorkspace* workspace, Pieces* pieces) const;

 private:
  static constexpr uint32_t no_rank = UINT32_MAX;
  struct Merge {
    uint64_t pair = UINT64_MAX;  // left << 32 | right
    uint32_t rank = no_rank;
    uint32_t result = 0;
  };
  Status create_symbol_tables(const TokenizerDescription& description);
  Status create_merge_table(const TokenizerDescription& description);

  size_t hash_slot(uint64_t pair) const;
  const Merge& find_merge(int32_t left, int32_t right) const;
  // The functions that follow return false if there is no memory.
  [[nodiscard]] bool split_into_symbols(std::string_view word, BpeWorkspace* workspace, bool* cacheable) const;
  [[nodiscard]] bool push_bytes(std::string_view word, BpeWorkspace* workspace, bool* cacheable) const;
  [[nodiscard]] bool push_characters(std::string_view word, BpeWorkspace* workspace, bool* cacheable) const;
  [[nodiscard]] bool push_unknown(uint32_t begin, uint32_t end, BpeWorkspace* workspace) const;
  void merge_short_word(BpeWorkspace* workspace) const;
  [[nodiscard]] bool merge_long_word(BpeWorkspace* workspace) const;
  [[nodiscard]] bool tokenize_word(std::string_view word, size_t start, BpeWorkspace* workspace,
                                   BpeCursor* cursor) const;
  [[nodiscard]] bool tokenize_bytes(std::string_view part, Place place, BpeWorkspace* workspace, Pieces* pieces) const;
  [[nodiscard]] bool tokenize_characters(std::string_view part, Place place, BpeWorkspace* workspace,
                                         Pieces* pieces) const;
  [[nodiscard]] bool tokenize_marked(std::string_view word, size_t start, BpeWorkspace* workspace,
                                     BpeCursor* cursor) const;

  Array<Merge> merges_;               // A hash table with open addressing, whose size is a power of two.
  uint64_t offset_ = 0, factor_ = 1;  // The parameters of its hash function: random, and the factor is odd.
  uint64_t probes_ = 0;
  std::span<const uint32_t> token_offsets_;
  int32_t byte_tokens_[256];  // -1 if the byte has no token.
  int32_t unknown_ = unknown_piece;
  bool keep_unknown_ = false, fuse_unknown_ = false;
  bool add_prefix_space_ = false;
  bool keep_parts_ = false, ignore_merges_ = false;
  Splitter splitter_;
  TokenTrie tokens_;  // The tokens that are looked up by their bytes: characters; with ignore_merges_ all tokens.

  // For BPE that begins with characters.
  bool characters_ = false, byte_fallback_ = false;
  bool mark_spaces_ = false, split_words_ = false;
  PrefixMark prefix_mark_ = PrefixMark::never;
  bool words_end_at_marks_ = false;  // No merge crosses the beginning of a U+2581, so words may be split there.
  uint64_t owner_ = 0;
};

}  // namespace LINFORMER_NAMESPACE
