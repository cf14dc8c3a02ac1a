// WordPiece: BERT's split at spaces and punctuation, then the longest known pieces from the left.
#pragma once

#include <cstdint>
#include <string_view>

#include "linformer/description.h"
#include "linformer/status.h"
#include "text/bert_normalizer.h"
#include "text/pieces.h"
#include "text/word_cache.h"

namespace linformer {

struct WordPieceWorkspace {
  NormalizedText normalized;
  Array<int32_t> tokens;  // of one word
  Array<uint32_t> ends;   // their ends, bytes of the word
  WordCache cache;
  uint64_t steps = 0;  // pieces looked up, so that tests can bound the work without a clock
};

class WordPiece {
 public:
  // Views of `description` must outlive this. `owner` names this tokenizer to word caches.
  Status create(const TokenizerDescription& description, uint64_t owner);

  // Appends the pieces of bytes [begin, end) of `normalized`. False when there is no memory.
  [[nodiscard]] bool tokenize(const NormalizedText& normalized, size_t begin, size_t end, WordPieceWorkspace* workspace,
                              Pieces* pieces) const;

 private:
  struct Entry {
    uint32_t hash = 0;
    int32_t token = -1;
  };
  int32_t find(uint64_t hash, std::string_view piece, bool continuing) const;
  // Fills workspace->tokens and ends; none = the word has no such split.
  [[nodiscard]] bool split_word(std::string_view word, WordPieceWorkspace* workspace) const;
  [[nodiscard]] bool tokenize_word(const NormalizedText& normalized, size_t begin, size_t end,
                                   WordPieceWorkspace* workspace, Pieces* pieces) const;
  std::string_view bytes_of(size_t token) const {
    return {token_bytes_.data() + token_offsets_[token], token_offsets_[token + 1] - token_offsets_[token]};
  }

  std::span<const char> token_bytes_;
  std::span<const uint32_t> token_offsets_;
  Array<Entry> entries_;  // open addressing, a power of two
  Array<char> continuing_prefix_;
  uint64_t continuing_hash_ = 0;
  size_t longest_token_ = 0;
  size_t max_word_characters_ = 0;
  uint64_t owner_ = 0;
};

}  // namespace linformer
