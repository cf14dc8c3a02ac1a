// WordPiece: splits a text at white space and punctuation as BERT does, then takes the longest known piece again and
// again from the left of each word.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/description.h"
#include "linformer/status.h"
#include "linformer/version.h"
#include "text/bert_normalizer.h"
#include "text/pieces.h"
#include "text/word_cache.h"

namespace LINFORMER_NAMESPACE {

struct WordPieceWorkspace {
  NormalizedText normalized;
  Array<int32_t> tokens;  // The tokens of one word.
  Array<uint32_t> ends;   // The end of each of these tokens, in bytes of the word.
  WordCache cache;
  uint64_t steps = 0;  // The number of pieces looked up, so that tests can bound the work without a clock.
};

class WordPiece {
 public:
  // The views of `description` must outlive this object. `owner` identifies the tokenizer to word caches.
  Status create(const TokenizerDescription& description, uint64_t owner);

  // Returns the number of slots of the hash table that create() looked at, so that tests can bound the work without a
  // clock.
  uint64_t hash_probes() const { return probes_; }

  // Appends the pieces of the bytes [begin, end) of `normalized`. Returns false if there is no memory.
  [[nodiscard]] bool tokenize(const NormalizedText& normalized, size_t begin, size_t end, WordPieceWorkspace* workspace,
                              Pieces* pieces) const;

 private:
  static constexpr uint64_t prime = (uint64_t{1} << 31) - 1, empty_hash = 1;
  struct Entry {
    uint32_t hash = 0;
    int32_t token = -1;
  };
  // The hash is the value of a polynomial at a random point, modulo 2^31 - 1 (Carter and Wegman 1979). It is extended
  // byte by byte, so the next longer prefix of a word takes one step for each new byte.
  uint64_t extend_hash(uint64_t hash, char byte) const {
    const uint64_t sum = hash * point_ + static_cast<uint8_t>(byte) + 1;
    const uint64_t folded = (sum & prime) + (sum >> 31);
    return folded >= prime ? folded - prime : folded;
  }
  uint64_t extend_hash(uint64_t hash, std::string_view bytes) const {
    for (char byte : bytes) hash = extend_hash(hash, byte);
    return hash;
  }
  uint32_t final_hash(uint64_t hash) const { return static_cast<uint32_t>(hash * factor_ >> 32); }
  int32_t find(uint64_t hash, std::string_view piece, bool continuing) const;
  // Fills workspace->tokens and ends, or leaves them empty if the word can't be split into known pieces.
  [[nodiscard]] bool split_word(std::string_view word, WordPieceWorkspace* workspace) const;
  [[nodiscard]] bool tokenize_word(const NormalizedText& normalized, size_t begin, size_t end,
                                   WordPieceWorkspace* workspace, Pieces* pieces) const;
  std::string_view bytes_of(size_t token) const {
    return {token_bytes_.data() + token_offsets_[token], token_offsets_[token + 1] - token_offsets_[token]};
  }

  std::span<const char> token_bytes_;
  std::span<const uint32_t> token_offsets_;
  Array<Entry> entries_;             // A hash table with open addressing, whose size is a power of two.
  uint64_t point_ = 0, factor_ = 1;  // The random parameters of its hash function.
  uint64_t probes_ = 0;
  Array<char> continuing_prefix_;
  uint64_t continuing_hash_ = 0;
  size_t longest_token_ = 0;
  size_t max_word_characters_ = 0;
  uint64_t owner_ = 0;
};

}  // namespace LINFORMER_NAMESPACE
