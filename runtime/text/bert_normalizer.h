// BERT's text clean-up: controls out, spaces around ideographs, accents off, lower case.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/description.h"
#include "linformer/version.h"
#include "text/normalized_text.h"

namespace LINFORMER_NAMESPACE {

class BertNormalizer {
 public:
  void create(const TokenizerDescription& description);
  // Replaces *normalized by `text`, valid UTF-8 that begins at code point `position`. False when there is no memory.
  [[nodiscard]] bool normalize(std::string_view text, uint32_t position, NormalizedText* normalized) const;

 private:
  [[nodiscard]] bool clean(uint32_t code_point, uint32_t origin, NormalizedText* normalized) const;
  [[nodiscard]] bool append_ascii(char c, uint32_t origin, NormalizedText* normalized) const;
  [[nodiscard]] bool emit_run(NormalizedText* normalized, size_t* consumed) const;
  [[nodiscard]] bool decompose_characters(NormalizedText* normalized) const;
  [[nodiscard]] bool finish(NormalizedText* normalized) const;
  bool clean_text_ = false, split_cjk_ = false, strip_accents_ = false, lowercase_ = false;
};

}  // namespace LINFORMER_NAMESPACE
