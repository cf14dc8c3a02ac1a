// BERT's normaliser: it removes control characters, puts spaces around ideographs, removes accents and changes letters
// to lower case, each if TokenizerDescription's clean_text, split_cjk, strip_accents or lowercase is true.
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
  // Sets *normalized to the normal form of `text`, which is valid UTF-8 and begins at code point `position` of the
  // original text. Returns false if there is no memory.
  [[nodiscard]] bool normalize(std::string_view text, uint32_t position, NormalizedText* normalized) const;

 private:
  [[nodiscard]] bool append_cleaned(uint32_t code_point, uint32_t origin, NormalizedText* normalized) const;
  [[nodiscard]] bool append_ascii(char c, uint32_t origin, NormalizedText* normalized) const;
  [[nodiscard]] bool append_run_without_accents(NormalizedText* normalized, size_t* consumed) const;
  [[nodiscard]] bool strip_accents(NormalizedText* normalized) const;
  [[nodiscard]] bool lowercase_and_encode(NormalizedText* normalized) const;
  bool clean_text_ = false, split_cjk_ = false, strip_accents_ = false, lowercase_ = false;
};

}  // namespace LINFORMER_NAMESPACE
