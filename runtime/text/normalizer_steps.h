// Hugging Face's normalizers, step by step, with the offsets that they keep.
#pragma once

#include <string_view>

#include "base/description.h"
#include "linformer/status.h"
#include "linformer/version.h"
#include "text/charsmap.h"
#include "text/normalized_text.h"

namespace LINFORMER_NAMESPACE {

// A replaced pattern is looked for at each character, so its length bounds the work.
inline constexpr size_t max_pattern_characters = 64;

class NormalizerSteps {
 public:
  // Views of `description` must outlive this.
  Status create(const TokenizerRules& description);

  // Replaces *normalized by `text`, valid UTF-8 that begins at code point `position`. False when there is no memory
  // or the text grows beyond all reason (normalized->too_long).
  [[nodiscard]] bool normalize(std::string_view text, uint32_t position, NormalizedText* normalized) const;

 private:
  struct Step {
    NormalizerKind kind;
    uint32_t pattern_begin, pattern_end, content_end;  // code points of texts_; the content follows the pattern
  };
  [[nodiscard]] bool apply(const Step& step, NormalizedText* normalized) const;
  [[nodiscard]] bool apply_charsmap(NormalizedText* normalized) const;
  [[nodiscard]] bool apply_rule(std::string_view grapheme, size_t characters, NormalizedText* normalized,
                                bool* applied) const;
  [[nodiscard]] bool replace(const Step& step, NormalizedText* normalized) const;
  [[nodiscard]] bool prepend(const Step& step, NormalizedText* normalized) const;

  Array<Step> steps_;
  Array<uint32_t> texts_;
  Charsmap charsmap_;
  bool plain_[128] = {};  // ASCII characters that no rule begins with
};

}  // namespace LINFORMER_NAMESPACE
