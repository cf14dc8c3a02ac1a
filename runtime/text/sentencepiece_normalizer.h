// SentencePiece's normaliser. It applies the rules of the model's charsmap, removes extra spaces and replaces spaces by
// U+2581, each only if the tokenizer's settings say so.
#pragma once

#include <string_view>

#include "base/description.h"
#include "linformer/status.h"
#include "linformer/version.h"
#include "text/charsmap.h"
#include "text/normalized_text.h"
#include "text/space_marks.h"
#include "text/token_trie.h"

namespace LINFORMER_NAMESPACE {

class SentencePieceNormalizer {
 public:
  // The views of `description` must outlive this object. Tokens that are marked user_defined are not normalised.
  Status create(const TokenizerDescription& description);

  // Sets *normalized to the normal form of `text`, which is valid UTF-8 and begins at code point `position` of the
  // original text. `origins` has one more entry than `bytes`: the code point at which the text ends. Returns false if
  // there is no memory, or if the result exceeds max_growth (normalized->too_long).
  [[nodiscard]] bool normalize(std::string_view text, uint32_t position, NormalizedText* normalized) const;

 private:
  // Returns the normal form of the beginning of `text`, and sets *length to the number of bytes that it stands for.
  std::string_view normalize_next(std::string_view text, size_t* length) const;
  [[nodiscard]] bool append(std::string_view part, uint32_t origin, NormalizedText* normalized) const;
  [[nodiscard]] bool append_space(uint32_t origin, NormalizedText* normalized) const;

  Charsmap charsmap_;
  TokenTrie user_defined_;
  bool has_user_defined_ = false;
  bool mark_spaces_ = false, remove_extra_spaces_ = false, add_mark_ = false, mark_behind_ = false;
};

}  // namespace LINFORMER_NAMESPACE
