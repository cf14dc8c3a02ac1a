#include "text/normalizer_steps.h"

#include <algorithm>

#include "base/description.h"
#include "text/normal_forms.h"
#include "text/normal_unicode.h"
#include "text/unicode.h"

namespace LINFORMER_NAMESPACE {
namespace {

// A grapheme of at least this many bytes is never replaced as a whole.
constexpr size_t long_grapheme = 6;

constexpr size_t max_text_characters = size_t{1} << 28;  // Positions in bytes then fit into 32 bits.

bool is_removed_by_nmt(uint32_t c) {
  return between(c, 0x1, 0x8) || c == 0xB || between(c, 0xE, 0x1F) || c == 0x7F || c == 0x8F || c == 0x9F;
}

bool is_space_to_nmt(uint32_t c) {
  return c == 0x9 || c == 0xA || c == 0xC || c == 0xD || c == 0x1680 || between(c, 0x200B, 0x200F) || c == 0x2028 ||
         c == 0x2029 || c == 0x2581 || c == 0xFEFF || c == 0xFFFD;
}

bool append_code_points(std::string_view text, Array<uint32_t>* code_points) {
  for (size_t at = 0; at < text.size();) {
    if (!code_points->try_push(next_code_point(text.data(), &at))) return false;
  }
  return true;
}

void strip(bool left, NormalizedText* normalized) {
  auto& characters = normalized->characters;
  size_t begin = 0, end = characters.size();
  if (left) {
    while (begin < end && is_white_space(characters[begin].code_point)) ++begin;
  } else {
    while (end > begin && is_white_space(characters[end - 1].code_point)) --end;
  }
  std::copy(characters.begin() + begin, characters.begin() + end, characters.begin());
  characters.truncate(end - begin);
}

template <class Keep>
void filter(NormalizedText* normalized, Keep keep) {
  auto& characters = normalized->characters;
  size_t kept = 0;
  for (size_t i = 0; i < characters.size(); ++i) {
    if (keep(characters[i].code_point)) characters[kept++] = characters[i];
  }
  characters.truncate(kept);
}

bool make_lower_case(NormalizedText* normalized) {
  auto& kept = normalized->kept;
  kept.clear();
  for (const auto& character : normalized->characters) {
    if (character.code_point == capital_i_with_dot) {
      if (!kept.try_push({'i', character.origin}) || !kept.try_push({combining_dot_above, character.origin}))
        return false;
    } else if (!kept.try_push({lower_case(character.code_point), character.origin})) {
      return false;
    }
  }
  std::swap(normalized->characters, kept);
  return true;
}

}  // namespace

Status NormalizerSteps::create(const TokenizerRules& description) {
  LINFORMER_TRY(charsmap_.create(description.charsmap));
  for (uint8_t c = 0; c < 128; ++c) {
    const char text = static_cast<char>(c);
    size_t length = 0;
    std::string_view replacement;
    plain_[c] = !charsmap_.find_shortest({&text, 1}, &length, &replacement);
  }
  for (const NormalizerStep& step : description.steps) {
    if (step.kind > NormalizerKind::prepend) {
      return Status::error(Code::unsupported, "the tokenizer's normaliser has a step of the unknown kind %u",
                           static_cast<unsigned>(step.kind));
    }
    for (const String* text : {&step.pattern, &step.content}) {
      if (valid_utf8_prefix(*text) != text->size()) {
        return Status::error(Code::corrupt_file, "a text of the tokenizer's normaliser is not valid UTF-8");
      }
    }
    Step copied = {step.kind, static_cast<uint32_t>(texts_.size()), 0, 0};
    bool complete = append_code_points(step.pattern, &texts_);
    copied.pattern_end = static_cast<uint32_t>(texts_.size());
    complete = complete && append_code_points(step.content, &texts_);
    copied.content_end = static_cast<uint32_t>(texts_.size());
    if (!complete || !steps_.try_push(copied)) {
      return Status::error(Code::out_of_memory, "no memory for the tokenizer's normaliser");
    }
    if (copied.pattern_end - copied.pattern_begin > max_pattern_characters) {
      return Status::error(Code::unsupported,
                           "the tokenizer's normaliser replaces a text of %u characters; at most %zu are supported",
                           copied.pattern_end - copied.pattern_begin, max_pattern_characters);
    }
  }
  return {};
}

// Replaces all of `grapheme` by the replacement of its shortest prefix that has a rule, as Hugging Face does.
bool NormalizerSteps::apply_rule(std::string_view grapheme, size_t characters, NormalizedText* normalized,
                                 bool* applied) const {
  size_t length = 0;
  std::string_view replacement;
  *applied = charsmap_.find_shortest(grapheme, &length, &replacement);
  if (!*applied) return true;
  size_t count = 0;
  for (size_t at = 0; at < replacement.size(); ++count) {
    const uint32_t code_point = next_code_point(replacement.data(), &at);
    if (!push_change(code_point, count < characters ? 0 : 1, normalized)) return false;
  }
  // If the replacement has fewer characters than the grapheme, the last new character stands for the surplus ones, too.
  // At a text's beginning there may be no new character yet.
  if (count < characters && !normalized->changes.empty()) {
    normalized->changes.back().change -= static_cast<int32_t>(characters - count);
  }
  return true;
}

bool NormalizerSteps::apply_charsmap(NormalizedText* normalized) const {
  if (charsmap_.empty()) return true;
  const auto& characters = normalized->characters;
  normalized->changes.clear();
  int32_t state = 0;
  for (size_t begin = 0, end = 0; begin < characters.size(); begin = end) {
    char bytes[long_grapheme + 3];
    size_t size = encode_code_point(characters[begin].code_point, bytes);
    for (end = begin + 1; end < characters.size(); ++end) {
      if (is_grapheme_boundary(characters[end - 1].code_point, characters[end].code_point, &state)) break;
      if (size < long_grapheme) size += encode_code_point(characters[end].code_point, bytes + size);
    }
    bool applied = false;
    if (end == begin + 1 && size == 1 && plain_[static_cast<uint8_t>(bytes[0])]) {
      if (!push_change(characters[begin].code_point, 0, normalized)) return false;
      continue;
    }
    if (size < long_grapheme && !apply_rule({bytes, size}, end - begin, normalized, &applied)) return false;
    for (size_t i = begin; i < end && !applied; ++i) {
      bool replaced = false;
      size = encode_code_point(characters[i].code_point, bytes);
      if (!apply_rule({bytes, size}, 1, normalized, &replaced)) return false;
      if (!replaced && !push_change(characters[i].code_point, 0, normalized)) return false;
    }
  }
  return apply_changes(normalized);
}

// Replaces each match of the step. Inserted characters have the origin of the last character that they replace.
bool NormalizerSteps::replace(const Step& step, NormalizedText* normalized) const {
  const auto& characters = normalized->characters;
  auto& kept = normalized->kept;
  const size_t length = step.pattern_end - step.pattern_begin;
  if (step.kind == NormalizerKind::replace && length == 0) return true;
  const auto match_at = [&](size_t at) {
    size_t end = at;
    if (step.kind == NormalizerKind::replace_spaces) {
      while (end < characters.size() && characters[end].code_point == ' ') ++end;
      return end - at < 2 ? at : end;
    }
    while (end < characters.size() && end - at < length &&
           characters[end].code_point == texts_[step.pattern_begin + (end - at)]) {
      ++end;
    }
    return end - at < length ? at : end;
  };
  kept.clear();
  for (size_t at = 0; at < characters.size();) {
    const size_t end = match_at(at);
    if (end == at) {
      if (!kept.try_push(characters[at++])) return false;
      continue;
    }
    for (uint32_t i = step.pattern_end; i < step.content_end; ++i) {
      if (!kept.try_push({texts_[i], characters[end - 1].origin})) return false;
    }
    if (kept.size() > normalized->limit) {
      normalized->too_long = true;
      return false;
    }
    at = end;
  }
  std::swap(normalized->characters, kept);
  return true;
}

bool NormalizerSteps::prepend(const Step& step, NormalizedText* normalized) const {
  const auto& characters = normalized->characters;
  auto& kept = normalized->kept;
  if (characters.empty()) return true;
  const size_t count = step.content_end - step.pattern_end;
  if (count > normalized->limit - std::min(normalized->limit, characters.size())) {
    normalized->too_long = true;
    return false;
  }
  kept.clear();
  for (uint32_t i = step.pattern_end; i < step.content_end; ++i) {
    if (!kept.try_push({texts_[i], characters[0].origin})) return false;
  }
  if (!kept.try_append(characters.data(), characters.size())) return false;
  std::swap(normalized->characters, kept);
  return true;
}

bool NormalizerSteps::apply(const Step& step, NormalizedText* normalized) const {
  switch (step.kind) {
    case NormalizerKind::charsmap:
      return apply_charsmap(normalized);
    case NormalizerKind::nfc:
    case NormalizerKind::nfd:
    case NormalizerKind::nfkc:
    case NormalizerKind::nfkd: {
      const bool composed = step.kind == NormalizerKind::nfc || step.kind == NormalizerKind::nfkc;
      const bool compatibility = step.kind == NormalizerKind::nfkc || step.kind == NormalizerKind::nfkd;
      return compute_normal_form(compatibility, composed, normalized) && apply_changes(normalized);
    }
    case NormalizerKind::lowercase:
      return make_lower_case(normalized);
    case NormalizerKind::strip_accents:
      filter(normalized, [](uint32_t c) { return !is_combining_mark(c); });
      return true;
    case NormalizerKind::strip_left:
    case NormalizerKind::strip_right:
      strip(step.kind == NormalizerKind::strip_left, normalized);
      return true;
    case NormalizerKind::nmt:
      filter(normalized, [](uint32_t c) { return !is_removed_by_nmt(c); });
      for (auto& character : normalized->characters) {
        if (is_space_to_nmt(character.code_point)) character.code_point = ' ';
      }
      return true;
    case NormalizerKind::replace:
    case NormalizerKind::replace_spaces:
      return replace(step, normalized);
    case NormalizerKind::prepend:
      return prepend(step, normalized);
  }
  return true;
}

bool NormalizerSteps::normalize(std::string_view text, uint32_t position, NormalizedText* normalized) const {
  auto& characters = normalized->characters;
  characters.clear();
  normalized->bytes.clear();
  normalized->origins.clear();
  for (size_t at = 0; at < text.size(); ++position) {
    if (!characters.try_push({next_code_point(text.data(), &at), position})) return false;
  }
  normalized->too_long = false;
  normalized->limit = std::min(max_growth * characters.size(), max_text_characters);
  for (const Step& step : steps_) {
    if (!apply(step, normalized)) return false;
  }
  if (!normalized->bytes.try_reserve(characters.size()) || !normalized->origins.try_reserve(characters.size()))
    return false;
  for (const auto& character : characters) {
    char encoded[4];
    const size_t length = encode_code_point(character.code_point, encoded);
    if (!normalized->bytes.try_append(encoded, length)) return false;
    for (size_t i = 0; i < length; ++i) {
      if (!normalized->origins.try_push(character.origin)) return false;
    }
  }
  return true;
}

}  // namespace LINFORMER_NAMESPACE
