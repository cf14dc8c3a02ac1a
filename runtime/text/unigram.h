// Unigram: splits a text into the tokens with the largest sum of scores.
//
// Source: Kudo 2018 (subword regularisation). Sums, ties and unknown characters are handled as in Hugging Face's
// tokenizers or, if TokenizerRules::sentencepiece is true, as in SentencePiece.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/array.h"
#include "base/description.h"
#include "linformer/status.h"
#include "linformer/version.h"
#include "text/normalized_text.h"
#include "text/normalizer_steps.h"
#include "text/pieces.h"
#include "text/sentencepiece_normalizer.h"
#include "text/space_marks.h"
#include "text/splitter.h"
#include "text/token_trie.h"

namespace LINFORMER_NAMESPACE {

// The longest token. Each byte of a text takes at most this many steps.
inline constexpr size_t max_unigram_token_bytes = 1024;

struct UnigramWorkspace {
  // The best split of a word up to a position.
  struct Best {
    double score;
    uint32_t begin;  // Where the split's last token begins; `nowhere` if no split ends at the position.
    int32_t token;
  };
  struct Part {
    uint32_t begin, end;
    int32_t token;
  };
  NormalizedText normalized, marked;
  Array<Best> best;
  Array<Part> parts;   // The parts of one word, from the last to the first.
  uint64_t steps = 0;  // The number of bytes looked up in the trie, so that tests can bound the work without a clock.
};

class Unigram {
 public:
  // The views of `description` must outlive this object.
  Status create(const TokenizerDescription& description);

  // Sets *normalized to the normal form of `text`, which is valid UTF-8 and begins at code point `position` of the
  // original text. Returns false if there is no memory, or if the result exceeds max_growth (normalized->too_long).
  [[nodiscard]] bool normalize(std::string_view text, uint32_t position, NormalizedText* normalized) const;

  // Appends the pieces of the bytes [begin, end) of workspace->normalized. If `match_special` is false, characters of
  // the text never become a special token. Returns false if there is no memory.
  [[nodiscard]] bool tokenize(size_t begin, size_t end, bool match_special, UnigramWorkspace* workspace,
                              Pieces* pieces) const;

  // Returns whether the token `name` is decoded to a byte.
  bool decodes_to_byte(std::string_view name) const { return decoding_.is_byte_token(name); }
  // Returns whether a run of decoded bytes that isn't valid UTF-8 is replaced as a whole, as Hugging Face's decoder
  // does. SentencePiece's decoder replaces only the invalid parts.
  bool replaces_invalid_byte_runs() const { return byte_fallback_ && !sentencepiece_; }

  // Appends the text of the token `name`. `first` says whether the token begins the decoded text. Returns false if
  // there is no memory.
  [[nodiscard]] bool append_decoded(std::string_view name, bool first, bool is_unknown, Array<char>* text) const;

 private:
  Status create_scores(const TokenizerDescription& description);
  Status create_special_flags(const TokenizerDescription& description);
  [[nodiscard]] bool tokenize_word(const NormalizedText& text, size_t begin, size_t end, bool match_special,
                                   UnigramWorkspace* workspace, Pieces* pieces) const;
  [[nodiscard]] bool viterbi(std::string_view word, bool match_special, UnigramWorkspace* workspace) const;
  void improve_best(size_t begin, size_t end, double score, int32_t token, UnigramWorkspace* workspace) const;
  [[nodiscard]] bool append_parts(const NormalizedText& text, size_t word, UnigramWorkspace* workspace,
                                  Pieces* pieces) const;
  [[nodiscard]] bool append_unknown(const NormalizedText& text, size_t begin, size_t end, Pieces* pieces) const;
  bool is_unknown(int32_t token) const { return token == unknown_piece || token == unk_token_; }
  Piece make_piece(int32_t token, const NormalizedText& text, size_t begin, size_t end) const;

  bool sentencepiece_ = false;
  NormalizerSteps steps_;
  SentencePieceNormalizer normalizer_;
  Splitter splitter_;
  PieceDecoding decoding_;
  bool split_words_ = false, removes_extra_spaces_ = false;
  PrefixMark prefix_mark_ = PrefixMark::never;
  TokenTrie trie_;
  Array<double> scores_;
  Array<uint8_t> special_;  // For each token, 1 if it is skipped when match_special is false.
  std::span<const uint8_t> uses_;
  double unknown_score_ = 0;
  float largest_score_ = 0;
  int32_t unk_ = -1, unk_token_ = -1;  // The model id of the unknown token, and its internal token.
  bool byte_fallback_ = false;
  int32_t byte_tokens_[256];  // -1 if the byte has no token.
};

}  // namespace LINFORMER_NAMESPACE
