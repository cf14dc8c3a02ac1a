// UTF-8, and the character classes that the tokenizers need. utf8proc provides the Unicode data.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/array.h"
#include "linformer/version.h"

namespace LINFORMER_NAMESPACE {

inline bool between(uint32_t value, uint32_t first, uint32_t last) { return value - first <= last - first; }
inline bool is_continuation(char byte) { return (static_cast<uint8_t>(byte) & 0xC0) == 0x80; }

// Returns the length of the longest prefix of `text` that is valid UTF-8 (shortest forms, no surrogates, up to
// U+10FFFF).
size_t valid_utf8_prefix(std::string_view text);

// Appends `text` with U+FFFD in place of each maximal subpart of an ill-formed sequence (Unicode 3.9, table 3-8), as
// the WHATWG decoder does. Returns false if there is no memory.
[[nodiscard]] bool append_repaired_utf8(std::string_view text, Array<char>* repaired);

// Counts the code points of `text`, which is valid UTF-8.
inline uint32_t count_code_points(std::string_view text) {
  uint32_t count = 0;
  for (char byte : text) count += !is_continuation(byte);
  return count;
}

// Returns the code point at text[*at] as append_repaired_utf8() would write it, and moves *at behind the bytes that it
// stands for. *at must be less than text.size().
uint32_t next_repaired_code_point(std::string_view text, size_t* at);

// Returns the code point at text[*at], which must be valid UTF-8, and moves *at behind it.
inline uint32_t next_code_point(const char* text, size_t* at) {
  const auto* bytes = reinterpret_cast<const uint8_t*>(text) + *at;
  const uint32_t lead = bytes[0];
  if (lead < 0x80) {
    *at += 1;
    return lead;
  }
  if (lead < 0xE0) {
    *at += 2;
    return (lead & 0x1F) << 6 | (bytes[1] & 0x3Fu);
  }
  if (lead < 0xF0) {
    *at += 3;
    return (lead & 0x0F) << 12 | (bytes[1] & 0x3Fu) << 6 | (bytes[2] & 0x3Fu);
  }
  *at += 4;
  return (lead & 0x07) << 18 | (bytes[1] & 0x3Fu) << 12 | (bytes[2] & 0x3Fu) << 6 | (bytes[3] & 0x3Fu);
}

// Writes `code_point`, which must be a Unicode scalar value, in UTF-8, and returns the number of bytes, at most 4.
size_t encode_code_point(uint32_t code_point, char* bytes);

bool is_number(uint32_t code_point);          // The categories N*.
bool is_white_space(uint32_t code_point);     // The property White_Space.
bool is_word_character(uint32_t code_point);  // \w of Unicode's regular expressions (UTS 18, annex C).

uint32_t lower_case(uint32_t code_point);       // The simple mapping.
constexpr uint32_t capital_i_with_dot = 0x130;  // The only character whose lower case has two characters.
constexpr uint32_t combining_dot_above = 0x307;

// The classes of letters that case-sensitive expressions need, by Unicode category.
enum class LetterCase : uint8_t {
  none = 0,
  upper,  // Lu, Lt.
  lower,  // Ll.
  both,   // Lm and Lo: letters without case.
  mark    // M*: marks, which may follow any letter.
};
LetterCase letter_case(uint32_t code_point);

}  // namespace LINFORMER_NAMESPACE
