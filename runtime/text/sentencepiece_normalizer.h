// SentencePiece's own normalisation: its rules, then spaces as U+2581.
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
  // Views of `description` must outlive this. The tokens marked user_defined are left as they are.
  Status create(const TokenizerDescription& description);

  // Replaces *normalized by `text`, valid UTF-8 that begins at code point `position`. origins has one entry more than
  // bytes: where the text's last byte ends. False when there is no memory or the text grows beyond all reason
  // (normalized->too_long).
  [[nodiscard]] bool normalize(std::string_view text, uint32_t position, NormalizedText* normalized) const;

 private:
  // What the beginning of `text` becomes, and how many bytes of it that takes.
  std::string_view next_part(std::string_view text, size_t* length) const;
  [[nodiscard]] bool append(std::string_view part, uint32_t origin, NormalizedText* normalized) const;
  [[nodiscard]] bool append_mark(uint32_t origin, NormalizedText* normalized) const;

  Charsmap charsmap_;
  TokenTrie user_defined_;
  bool has_user_defined_ = false;
  bool mark_spaces_ = false, remove_extra_spaces_ = false, add_mark_ = false, mark_behind_ = false;
};

}  // namespace LINFORMER_NAMESPACE
