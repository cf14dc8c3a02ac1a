// Unigram: the split of a text into tokens whose scores add up to the most.
//
// Source: Kudo 2018 (subword regularisation); sums, ties and unknown characters as in Hugging Face's tokenizers or, for
// TokenizerRules::sentencepiece, as in SentencePiece.
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

// No token is longer: a text costs at most its bytes times this.
inline constexpr size_t max_unigram_token_bytes = 1024;

struct UnigramWorkspace {
  // The best way to a position of a word.
  struct Best {
    double score;
    uint32_t begin;  // of its last token; `nowhere` = not reached
    int32_t token;
  };
  struct Part {
    uint32_t begin, end;
    int32_t token;
  };
  NormalizedText normalized, marked;
  Array<Best> best;
  Array<Part> parts;   // of one word, last first
  uint64_t steps = 0;  // bytes looked at in the trie, so that tests can bound the work without a clock
};

class Unigram {
 public:
  // Views of `description` must outlive this.
  Status create(const TokenizerDescription& description);

  // Replaces workspace->normalized by the clean form of `text`, valid UTF-8 that begins at code point `position`.
  // False when there is no memory, or the text grows beyond all reason (too_long).
  [[nodiscard]] bool normalize(std::string_view text, uint32_t position, NormalizedText* normalized) const;

  // Appends the pieces of bytes [begin, end) of workspace->normalized. With match_special false, no special token
  // comes out of the text's own characters. False when there is no memory.
  [[nodiscard]] bool tokenize(size_t begin, size_t end, bool match_special, UnigramWorkspace* workspace,
                              Pieces* pieces) const;

  // Whether decoding makes the token `name` a byte.
  bool decodes_to_byte(std::string_view name) const { return decoding_.is_byte(name); }
  // Hugging Face's decoder gives up a whole run of bytes that isn't valid UTF-8, SentencePiece's only what is wrong.
  bool replaces_byte_runs() const { return byte_fallback_ && !sentencepiece_; }

  // Appends what the token `name` of a decoded text stands for; `first` where it begins the text.
  [[nodiscard]] bool append_decoded(std::string_view name, bool first, bool is_unknown, Array<char>* text) const;

 private:
  Status create_scores(const TokenizerDescription& description);
  Status create_special(const TokenizerDescription& description);
  [[nodiscard]] bool tokenize_word(const NormalizedText& text, size_t begin, size_t end, bool match_special,
                                   UnigramWorkspace* workspace, Pieces* pieces) const;
  [[nodiscard]] bool find_best(std::string_view word, bool match_special, UnigramWorkspace* workspace) const;
  void reach(size_t begin, size_t end, double score, int32_t token, UnigramWorkspace* workspace) const;
  [[nodiscard]] bool emit(const NormalizedText& text, size_t word, UnigramWorkspace* workspace, Pieces* pieces) const;
  [[nodiscard]] bool emit_unknown(const NormalizedText& text, size_t begin, size_t end, Pieces* pieces) const;
  bool is_unknown(int32_t token) const { return token == unknown_piece || token == unk_token_; }
  Piece piece(int32_t token, const NormalizedText& text, size_t begin, size_t end) const;

  bool sentencepiece_ = false;
  NormalizerSteps steps_;
  SentencePieceNormalizer normalizer_;
  Splitter splitter_;
  PieceDecoding decoding_;
  bool split_words_ = false, removes_extra_spaces_ = false;
  PrefixMark prefix_mark_ = PrefixMark::never;
  TokenTrie trie_;
  Array<double> scores_;
  Array<uint8_t> special_;  // tokens that match_special false passes over
  std::span<const uint8_t> uses_;
  double unknown_score_ = 0;
  float largest_score_ = 0;
  int32_t unk_ = -1, unk_token_ = -1;  // the model's id, and the token with it
  bool byte_fallback_ = false;
  int32_t byte_tokens_[256];  // -1 = none
};

}  // namespace LINFORMER_NAMESPACE
