#include "text/bert_normalizer.h"

#include "base/description.h"
#include "text/bert_unicode.h"
#include "text/unicode.h"

namespace LINFORMER_NAMESPACE {
namespace {

bool push_utf8(uint32_t code_point, uint32_t origin, NormalizedText* normalized) {
  char encoded[4];
  const size_t length = encode_code_point(code_point, encoded);
  if (!normalized->bytes.try_append(encoded, length)) return false;
  for (size_t i = 0; i < length; ++i) {
    if (!normalized->origins.try_push(origin)) return false;
  }
  return true;
}

}  // namespace

void BertNormalizer::create(const TokenizerDescription& description) {
  clean_text_ = description.clean_text;
  split_cjk_ = description.split_cjk;
  strip_accents_ = description.strip_accents;
  lowercase_ = description.lowercase;
}

bool BertNormalizer::append_cleaned(uint32_t code_point, uint32_t origin, NormalizedText* normalized) const {
  if (clean_text_) {
    if (is_removed_by_clean_text(code_point)) return true;
    if (is_white_space(code_point)) code_point = ' ';
  }
  auto& characters = normalized->characters;
  if (split_cjk_ && is_cjk_ideograph(code_point)) {
    return characters.try_push({' ', origin}) && characters.try_push({code_point, origin}) &&
           characters.try_push({' ', origin});
  }
  return characters.try_push({code_point, origin});
}

// Appends the parts of the run in canonical order, without nonspacing marks. A part that decomposition added has the
// origin of the character before it. The other parts take the origins of the characters in order.
bool BertNormalizer::append_run_without_accents(NormalizedText* normalized, size_t* consumed) const {
  const auto& characters = normalized->characters;
  auto& run = normalized->run;
  const auto emit = [&](const NormalizedText::Part& part) {
    if (!part.added) ++*consumed;
    const uint32_t origin = characters[*consumed == 0 ? 0 : *consumed - 1].origin;
    return is_accent(part.code_point) || normalized->kept.try_push({part.code_point, origin});
  };
  bool ordered = true;
  for (size_t i = 1; i < run.size(); ++i) ordered = ordered && run[i - 1].combining_class <= run[i].combining_class;
  // Sorts by one pass for each combining class. An insertion sort would be quadratic in a hostile run of marks.
  for (int wanted = 0; wanted < 256; ++wanted) {
    for (const auto& part : run) {
      if ((ordered || part.combining_class == wanted) && !emit(part)) return false;
    }
    if (ordered) break;
  }
  run.clear();
  return true;
}

bool BertNormalizer::strip_accents(NormalizedText* normalized) const {
  auto& run = normalized->run;  // One character and the combining marks after it.
  run.clear();
  normalized->kept.clear();
  size_t consumed = 0;
  for (const auto& character : normalized->characters) {
    uint32_t parts[max_decomposition];
    const size_t count = decompose(character.code_point, parts);
    for (size_t i = 0; i < count; ++i) {
      const auto marks = static_cast<uint8_t>(combining_class(parts[i]));
      if (marks == 0 && !append_run_without_accents(normalized, &consumed)) return false;
      if (!run.try_push({parts[i], marks, i > 0})) return false;
    }
  }
  if (!append_run_without_accents(normalized, &consumed)) return false;
  std::swap(normalized->characters, normalized->kept);
  return true;
}

bool BertNormalizer::lowercase_and_encode(NormalizedText* normalized) const {
  for (const auto& character : normalized->characters) {
    uint32_t code_point = character.code_point;
    if (lowercase_) {
      if (code_point == capital_i_with_dot) {
        if (!push_utf8('i', character.origin, normalized) ||
            !push_utf8(combining_dot_above, character.origin, normalized)) {
          return false;
        }
        continue;
      }
      code_point = lower_case(code_point);
    }
    if (!push_utf8(code_point, character.origin, normalized)) return false;
  }
  return true;
}

bool BertNormalizer::append_ascii(char c, uint32_t origin, NormalizedText* normalized) const {
  if (clean_text_) {
    if (is_removed_by_clean_text(static_cast<uint8_t>(c))) return true;
    if (is_white_space(static_cast<uint8_t>(c))) c = ' ';
  }
  if (lowercase_ && c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return normalized->bytes.try_push(c) && normalized->origins.try_push(origin);
}

bool BertNormalizer::normalize(std::string_view text, uint32_t position, NormalizedText* normalized) const {
  normalized->bytes.clear();
  normalized->origins.clear();
  for (size_t at = 0; at < text.size();) {
    if (static_cast<uint8_t>(text[at]) < 0x80) {
      if (!append_ascii(text[at++], position++, normalized)) return false;
      continue;
    }
    // ASCII characters neither decompose nor combine, so the characters between two of them are normalised by
    // themselves. An ASCII character that clean_text removes doesn't separate them.
    normalized->characters.clear();
    for (; at < text.size(); ++position) {
      const auto byte = static_cast<uint8_t>(text[at]);
      if (byte < 0x80 && !(clean_text_ && is_removed_by_clean_text(byte))) break;
      if (!append_cleaned(next_code_point(text.data(), &at), position, normalized)) return false;
    }
    if (strip_accents_ && !strip_accents(normalized)) return false;
    if (!lowercase_and_encode(normalized)) return false;
  }
  return true;
}

}  // namespace LINFORMER_NAMESPACE
