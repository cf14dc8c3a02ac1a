// Hugging Face's normalizers, which are applied step by step and give the same offsets as Hugging Face's tokenizers.
#pragma once

#include <string_view>

#include "base/description.h"
#include "linformer/status.h"
#include "linformer/version.h"
#include "text/charsmap.h"
#include "text/normalized_text.h"

namespace LINFORMER_NAMESPACE {

// The longest pattern of a step. It is compared at each character, so its length bounds the work.
inline constexpr size_t max_pattern_characters = 64;

class NormalizerSteps {
 public:
  // The views of `description` must outlive this object.
  Status create(const TokenizerRules& description);

  // Sets *normalized to the normal form of `text`, which is valid UTF-8 and begins at code point `position` of the
  // original text. Returns false if there is no memory, or if the result exceeds max_growth (normalized->too_long).
  [[nodiscard]] bool normalize(std::string_view text, uint32_t position, NormalizedText* normalized) const;

 private:
  struct Step {
    NormalizerKind kind;
    uint32_t pattern_begin, pattern_end, content_end;  // In code points of texts_. The content follows the pattern.
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
  bool plain_[128] = {};  // Whether an ASCII character by itself has no rule.
};

}  // namespace LINFORMER_NAMESPACE
