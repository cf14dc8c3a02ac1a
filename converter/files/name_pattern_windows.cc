// An implementation for Windows, which has no fnmatch(). It compares bytes, as fnmatch() does in the locale C. It does
// not know character classes such as [:alpha:].
#include <cstddef>

#include "converter/files/name_pattern.h"

namespace linformer::files {
namespace {

// Returns whether `character` fits the brackets that begin at `*at`, and moves `*at` behind them. A '[' without a ']'
// stands for itself.
bool fits_brackets(const std::string& pattern, size_t* at, char character) {
  const auto byte = [](char c) { return static_cast<unsigned char>(c); };
  size_t next = *at + 1;
  const bool others = next < pattern.size() && (pattern[next] == '!' || pattern[next] == '^');
  if (others) ++next;
  bool found = false;
  for (bool first = true; next < pattern.size() && (first || pattern[next] != ']'); first = false) {
    if (pattern[next] == '\\' && next + 1 < pattern.size()) ++next;
    const char begin = pattern[next++];
    char end = begin;
    if (next + 1 < pattern.size() && pattern[next] == '-' && pattern[next + 1] != ']') {
      ++next;
      if (pattern[next] == '\\' && next + 1 < pattern.size()) ++next;
      end = pattern[next++];
    }
    found = found || (byte(begin) <= byte(character) && byte(character) <= byte(end));
  }
  if (next >= pattern.size()) {
    ++*at;
    return character == '[';
  }
  *at = next + 1;
  return found != others;
}

// Returns whether `character` fits the element of the pattern at `*at`: a character, '?' or brackets. Moves `*at`
// behind that element, which must not be '*'.
bool fits_part(const std::string& pattern, size_t* at, char character) {
  if (pattern[*at] == '[') return fits_brackets(pattern, at, character);
  const bool any = pattern[*at] == '?';
  if (pattern[*at] == '\\' && ++*at == pattern.size()) return false;  // No character follows the backslash.
  return pattern[(*at)++] == character || any;
}

}  // namespace

bool fits_pattern(const std::string& pattern, const std::string& name) {
  // `star` is the place behind the last '*' that was reached, and `taken` the end of the characters that the '*' stands
  // for. When the rest doesn't fit, only `taken` has to grow: the parts before the last '*' need not be tried again.
  size_t star = std::string::npos, taken = 0;
  size_t at = 0, place = 0;
  while (place < name.size()) {
    if (at < pattern.size() && pattern[at] == '*') {
      star = ++at;
      taken = place;
      continue;
    }
    size_t next = at;
    if (at < pattern.size() && fits_part(pattern, &next, name[place])) {
      at = next;
      ++place;
      continue;
    }
    if (star == std::string::npos) return false;
    at = star;
    place = ++taken;
  }
  while (at < pattern.size() && pattern[at] == '*') ++at;
  return at == pattern.size();
}

}  // namespace linformer::files
