#include "text/byte_level.h"

#include <array>

#include "text/unicode.h"

namespace LINFORMER_NAMESPACE {
namespace {

enum CharacterClass : uint8_t { other_class = 0, letter_class, number_class, space_class };

constexpr std::array<CharacterClass, 128> make_ascii_classes() {
  std::array<CharacterClass, 128> classes = {};
  for (int c = 'a'; c <= 'z'; ++c) classes[c] = classes[c - 'a' + 'A'] = letter_class;
  for (int c = '0'; c <= '9'; ++c) classes[c] = number_class;
  for (int c = '\t'; c <= '\r'; ++c) classes[c] = space_class;
  classes[' '] = space_class;
  return classes;
}
constexpr std::array<CharacterClass, 128> ascii_classes = make_ascii_classes();

// The class of the character at text[*at]; moves *at behind it.
inline CharacterClass next_class(std::string_view text, size_t* at) {
  const auto lead = static_cast<uint8_t>(text[*at]);
  if (lead < 0x80) {
    ++*at;
    return ascii_classes[lead];
  }
  const uint32_t code_point = next_code_point(text.data(), at);
  if (is_letter(code_point)) return letter_class;
  if (is_number(code_point)) return number_class;
  return is_white_space(code_point) ? space_class : other_class;
}

// The length of 's 't 're 've 'm 'll 'd at text[at], which is an apostrophe; 0 when none is there.
size_t contraction(std::string_view text, size_t at) {
  if (at + 1 >= text.size()) return 0;
  const char first = text[at + 1];
  if (first == 's' || first == 't' || first == 'm' || first == 'd') return 2;
  if (at + 2 >= text.size()) return 0;
  const char second = text[at + 2];
  return ((first == 'r' || first == 'v') && second == 'e') || (first == 'l' && second == 'l') ? 3 : 0;
}

size_t run_end(std::string_view text, size_t at, CharacterClass wanted) {
  while (at < text.size()) {
    size_t next = at;
    if (next_class(text, &next) != wanted) break;
    at = next;
  }
  return at;
}

constexpr std::array<uint16_t, 256> make_printable() {
  std::array<uint16_t, 256> printable = {};
  uint16_t stand_in = 0x100;
  for (int byte = 0; byte < 256; ++byte) {
    const bool visible = (byte >= '!' && byte <= '~') || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
    printable[byte] = visible ? static_cast<uint16_t>(byte) : stand_in++;
  }
  return printable;
}
constexpr std::array<uint16_t, 256> printable = make_printable();

}  // namespace

size_t word_end(std::string_view text, size_t at) {
  if (text[at] == '\'') {
    if (const size_t length = contraction(text, at); length != 0) return at + length;
  }
  size_t next = at;
  CharacterClass first = next_class(text, &next);
  if (first != space_class) return run_end(text, next, first);
  if (next == text.size()) return next;
  if (text[at] == ' ') {
    size_t after = next;
    const CharacterClass second = next_class(text, &after);
    if (second != space_class) return run_end(text, after, second);
  }
  // \s+(?!\S): all the spaces at the end of the text, otherwise all but the last when there are two or more.
  size_t last = at;
  size_t end = next;
  while (end < text.size()) {
    size_t following = end;
    if (next_class(text, &following) != space_class) return last == at ? end : last;
    last = end;
    end = following;
  }
  return end;
}

uint32_t printable_of(uint8_t byte) { return printable[byte]; }

bool append_printable(std::string_view bytes, Array<char>* text) {
  if (!text->try_reserve(text->size() + 2 * bytes.size())) return false;
  for (char byte : bytes) {
    char encoded[4];
    const size_t length = encode_code_point(printable[static_cast<uint8_t>(byte)], encoded);
    if (!text->try_append(encoded, length)) return false;
  }
  return true;
}

}  // namespace LINFORMER_NAMESPACE
