#include "text/unicode.h"

#include <utf8proc.h>

namespace LINFORMER_NAMESPACE {
namespace {

utf8proc_category_t category_of(uint32_t code_point) {
  return static_cast<utf8proc_category_t>(utf8proc_get_property(static_cast<utf8proc_int32_t>(code_point))->category);
}

// Returns the length of the valid sequence that `bytes` begins with. If there is none, returns minus the length of the
// maximal subpart that is replaced by U+FFFD.
int sequence_at(const uint8_t* bytes, size_t left) {
  const uint8_t lead = bytes[0];
  if (lead < 0x80) return 1;
  if (lead < 0xC2 || lead > 0xF4) return -1;
  const int length = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  // The range of the second byte excludes overlong forms, surrogates and values beyond U+10FFFF.
  const uint8_t low = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
  const uint8_t high = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
  if (left < 2 || bytes[1] < low || bytes[1] > high) return -1;
  for (int i = 2; i < length; ++i) {
    if (left <= static_cast<size_t>(i) || (bytes[i] & 0xC0) != 0x80) return -i;
  }
  return length;
}

}  // namespace

size_t valid_utf8_prefix(std::string_view text) {
  const auto* bytes = reinterpret_cast<const uint8_t*>(text.data());
  size_t at = 0;
  while (at < text.size()) {
    if (text.size() - at >= 8) {
      uint64_t block;
      std::memcpy(&block, bytes + at, 8);
      if ((block & 0x8080808080808080u) == 0) {
        at += 8;
        continue;
      }
    }
    const int length = sequence_at(bytes + at, text.size() - at);
    if (length < 0) break;
    at += static_cast<size_t>(length);
  }
  return at;
}

bool append_repaired_utf8(std::string_view text, Array<char>* repaired) {
  while (!text.empty()) {
    const size_t valid = valid_utf8_prefix(text);
    if (!repaired->try_append(text.data(), valid)) return false;
    text.remove_prefix(valid);
    if (text.empty()) break;
    const int length = sequence_at(reinterpret_cast<const uint8_t*>(text.data()), text.size());
    if (!repaired->try_append("\xEF\xBF\xBD", 3)) return false;
    text.remove_prefix(static_cast<size_t>(-length));
  }
  return true;
}

uint32_t next_repaired_code_point(std::string_view text, size_t* at) {
  const int length = sequence_at(reinterpret_cast<const uint8_t*>(text.data()) + *at, text.size() - *at);
  if (length > 0) return next_code_point(text.data(), at);
  *at += static_cast<size_t>(-length);
  return 0xFFFD;
}

size_t encode_code_point(uint32_t code_point, char* bytes) {
  return static_cast<size_t>(
      utf8proc_encode_char(static_cast<utf8proc_int32_t>(code_point), reinterpret_cast<utf8proc_uint8_t*>(bytes)));
}

bool is_number(uint32_t code_point) {
  return between(category_of(code_point), UTF8PROC_CATEGORY_ND, UTF8PROC_CATEGORY_NO);
}

bool is_white_space(uint32_t code_point) {
  if (code_point < 0x80) return code_point == ' ' || between(code_point, '\t', '\r');
  return code_point == 0x85 || between(category_of(code_point), UTF8PROC_CATEGORY_ZS, UTF8PROC_CATEGORY_ZP);
}

bool is_word_character(uint32_t code_point) {
  switch (category_of(code_point)) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LL:
    case UTF8PROC_CATEGORY_LT:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_LO:
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_MC:
    case UTF8PROC_CATEGORY_ME:
    case UTF8PROC_CATEGORY_ND:
    case UTF8PROC_CATEGORY_NL:
    case UTF8PROC_CATEGORY_PC:
      return true;
    default:
      // Characters with the property Join_Control, and symbols with the property Other_Alphabetic.
      return between(code_point, 0x200C, 0x200D) || between(code_point, 0x24B6, 0x24E9) ||
             between(code_point, 0x1F130, 0x1F149) || between(code_point, 0x1F150, 0x1F169) ||
             between(code_point, 0x1F170, 0x1F189);
  }
}

uint32_t lower_case(uint32_t code_point) {
  return static_cast<uint32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(code_point)));
}

LetterCase letter_case(uint32_t code_point) {
  switch (category_of(code_point)) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LT:
      return LetterCase::upper;
    case UTF8PROC_CATEGORY_LL:
      return LetterCase::lower;
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_LO:
      return LetterCase::both;
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_MC:
    case UTF8PROC_CATEGORY_ME:
      return LetterCase::mark;
    default:
      return LetterCase::none;
  }
}

}  // namespace LINFORMER_NAMESPACE
