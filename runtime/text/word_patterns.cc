#include "text/word_patterns.h"

#include <array>

#include "text/unicode.h"

namespace LINFORMER_NAMESPACE {
namespace {

// The classes of characters that the expressions distinguish.
enum CharacterClass : uint8_t {
  upper_class = 0,  // Lu and Lt.
  letter_class,     // Lm and Lo, which count both as upper and as lower case.
  lower_class,      // Ll.
  mark_class,       // M.
  number_class,
  space_class,
  newline_class,  // \r and \n, which are white space too.
  other_class
};

constexpr std::array<CharacterClass, 128> make_ascii_classes() {
  std::array<CharacterClass, 128> classes = {};
  for (auto& ascii : classes) ascii = other_class;
  for (int c = 'a'; c <= 'z'; ++c) classes[c] = lower_class;
  for (int c = 'A'; c <= 'Z'; ++c) classes[c] = upper_class;
  for (int c = '0'; c <= '9'; ++c) classes[c] = number_class;
  for (int c = '\t'; c <= '\r'; ++c) classes[c] = space_class;
  classes[' '] = space_class;
  classes['\r'] = classes['\n'] = newline_class;
  return classes;
}
constexpr std::array<CharacterClass, 128> ascii_classes = make_ascii_classes();

CharacterClass class_of(uint32_t code_point) {
  switch (letter_case(code_point)) {
    case LetterCase::upper:
      return upper_class;
    case LetterCase::lower:
      return lower_class;
    case LetterCase::both:
      return letter_class;
    case LetterCase::mark:
      return mark_class;
    case LetterCase::none:
      break;
  }
  if (is_number(code_point)) return number_class;
  return is_white_space(code_point) ? space_class : other_class;
}

// Returns the class of the character at text[*at], and moves *at behind it.
inline CharacterClass next_class(std::string_view text, size_t* at) {
  const auto lead = static_cast<uint8_t>(text[*at]);
  if (lead < 0x80) {
    ++*at;
    return ascii_classes[lead];
  }
  return class_of(next_code_point(text.data(), at));
}

constexpr unsigned bit(CharacterClass c) { return 1u << c; }
constexpr unsigned letters = bit(upper_class) | bit(letter_class) | bit(lower_class);
constexpr unsigned marks = bit(mark_class);
constexpr unsigned numbers = bit(number_class);
constexpr unsigned white_space = bit(space_class) | bit(newline_class);
constexpr unsigned upper = bit(upper_class) | bit(letter_class) | marks;
constexpr unsigned lower = bit(lower_class) | bit(letter_class) | marks;
constexpr unsigned every_class = 0xFF;

// Returns the end of the longest run of characters from text[at] on whose classes are all in `wanted`.
size_t run_end(std::string_view text, size_t at, unsigned wanted) {
  while (at < text.size()) {
    size_t next = at;
    if ((wanted & bit(next_class(text, &next))) == 0) break;
    at = next;
  }
  return at;
}

bool begins_with(std::string_view text, size_t at, unsigned wanted) {
  return at < text.size() && (wanted & bit(next_class(text, &at))) != 0;
}

// Returns the length of the contraction ('s 't 're 've 'm 'll 'd) at text[at]; 0 if there is none. If case is ignored,
// the long s (U+017F) counts as an s.
size_t contraction(std::string_view text, size_t at, bool any_case) {
  if (at >= text.size() || text[at] != '\'') return 0;
  const auto letter = [&](size_t i) {
    const char c = i < text.size() ? text[i] : '\0';
    return any_case && c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  };
  const char first = letter(at + 1), second = letter(at + 2);
  if (first == 's' || first == 't' || first == 'm' || first == 'd') return 2;
  if (any_case && text.substr(at + 1).starts_with("\u017F")) return 3;
  return ((first == 'r' || first == 'v') && second == 'e') || (first == 'l' && second == 'l') ? 3 : 0;
}

// Matches \s+(?!\S)|\s+ at text[at], which is white space, and returns the end of the match: the text's end if only
// white space is left; otherwise the match doesn't include the last white space character, unless it is the only one.
size_t spaces_end(std::string_view text, size_t at) {
  size_t last = at, end = at;
  next_class(text, &end);
  while (end < text.size()) {
    size_t following = end;
    if ((white_space & bit(next_class(text, &following))) == 0) return last == at ? end : last;
    last = end;
    end = following;
  }
  return end;
}

//   's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
size_t gpt2_end(std::string_view text, size_t at) {
  if (const size_t length = contraction(text, at, false); length != 0) return at + length;
  size_t next = at;
  const auto run_of = [&](CharacterClass first, size_t from) {
    const unsigned c = bit(first);
    return run_end(text, from,
                   (c & letters) != 0   ? letters
                   : (c & numbers) != 0 ? numbers
                                        : every_class & ~(letters | numbers | white_space));
  };
  const CharacterClass first = next_class(text, &next);
  if ((bit(first) & white_space) == 0) return run_of(first, next);
  if (text[at] == ' ' && next < text.size()) {
    const CharacterClass second = next_class(text, &next);
    if ((bit(second) & white_space) == 0) return run_of(second, next);
  }
  return spaces_end(text, at);
}

// The newer expressions have the same structure. These are the properties in which they differ.
struct Pattern {
  bool leading_contraction;   // (?i:'s|'t|'re|'ve|'m|'ll|'d) is the first alternative.
  bool trailing_contraction;  // (?i:...)? follows a word.
  bool cased;                 // A word consists of capitals, followed by small letters.
  bool marks_in_words;
  int digits;           // The most digits of a number.
  bool slashes_behind;  // [\r\n/]* follows symbols; otherwise [\r\n]* does.
};

constexpr Pattern pattern_of(SplitKind kind) {
  switch (kind) {
    case SplitKind::qwen2:
      return {true, false, false, false, 1, false};
    case SplitKind::qwen3_5:
      return {true, false, false, true, 1, false};
    case SplitKind::o200k:
      return {false, true, true, false, 3, true};
    case SplitKind::tekken:
      return {false, false, true, false, 1, true};
    default:
      return {true, false, false, false, 3, false};  // cl100k
  }
}

// Matches [\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+ at text[at], and returns the end of the match;
// `at` if there is none. If no small letter follows the first part, the match ends with the last character that both
// parts accept, as backtracking would find.
size_t small_word_end(std::string_view text, size_t at) {
  size_t both_end = at;  // The end of the last character that both parts accept.
  size_t end = at;
  while (end < text.size()) {
    size_t next = end;
    const unsigned c = bit(next_class(text, &next));
    if ((c & upper) == 0) {
      if ((c & lower) != 0) return run_end(text, next, lower);
      break;
    }
    end = next;
    if ((c & lower) != 0) both_end = end;
  }
  return both_end;
}

// Returns the end of a word at text[at]; `at` if there is none. One character that is neither a letter, a number nor a
// line end may come before the word's letters.
size_t letters_end(const Pattern& pattern, std::string_view text, size_t at) {
  size_t behind_first = at;
  const unsigned first = bit(next_class(text, &behind_first));
  const bool takes_first = (first & (letters | numbers | bit(newline_class))) == 0;
  if (!pattern.cased) {
    const unsigned wanted = pattern.marks_in_words ? letters | marks : letters;
    if (takes_first && begins_with(text, behind_first, wanted)) return run_end(text, behind_first, wanted);
    return run_end(text, at, wanted);
  }
  size_t end = takes_first ? small_word_end(text, behind_first) : behind_first;
  if (!takes_first || end == behind_first) {
    end = small_word_end(text, at);
    if (end == at) {
      // The expression's second alternative: at least one capital, then any number of small letters.
      const size_t begin = takes_first && begins_with(text, behind_first, upper) ? behind_first : at;
      end = run_end(text, begin, upper);
      if (end == begin) return at;
      end = run_end(text, end, lower);
    }
  }
  return pattern.trailing_contraction ? end + contraction(text, end, true) : end;
}

size_t newer_expression_end(const Pattern& pattern, std::string_view text, size_t at) {
  if (pattern.leading_contraction) {
    if (const size_t length = contraction(text, at, true); length != 0) return at + length;
  }
  if (const size_t end = letters_end(pattern, text, at); end != at) return end;
  size_t next = at;
  const unsigned first = bit(next_class(text, &next));
  if ((first & numbers) != 0) {
    for (int digits = 1; digits < pattern.digits && begins_with(text, next, numbers); ++digits) next_class(text, &next);
    return next;
  }
  const unsigned no_symbol = letters | numbers | white_space | (pattern.marks_in_words ? marks : 0);
  const size_t symbols = text[at] == ' ' ? next : at;
  if (size_t end = run_end(text, symbols, every_class & ~no_symbol); end != symbols) {
    while (end < text.size() &&
           (text[end] == '\r' || text[end] == '\n' || (pattern.slashes_behind && text[end] == '/'))) {
      ++end;
    }
    return end;
  }
  // Matches \s*[\r\n]+, which ends with the last line end in the white space.
  size_t newline = at;
  for (size_t end = at; end < text.size();) {
    const unsigned c = bit(next_class(text, &end));
    if ((c & white_space) == 0) break;
    if ((c & bit(newline_class)) != 0) newline = end;
  }
  return newline != at ? newline : spaces_end(text, at);
}

}  // namespace

std::string_view regular_expression_of(SplitKind kind) {
  switch (kind) {
    case SplitKind::gpt2:
      return R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";
    case SplitKind::cl100k:
      return R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|)"
             R"(\s*[\r\n]+|\s+(?!\S)|\s+)";
    case SplitKind::qwen2:
      return R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|)"
             R"(\s+(?!\S)|\s+)";
    case SplitKind::qwen3_5:
      return R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|)"
             R"(\s*[\r\n]+|\s+(?!\S)|\s+)";
    case SplitKind::o200k:
      return R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+)"
             R"((?i:'s|'t|'re|'ve|'m|'ll|'d)?|)"
             R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*)"
             R"((?i:'s|'t|'re|'ve|'m|'ll|'d)?|)"
             R"(\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
    case SplitKind::tekken:
      return R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|)"
             R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|)"
             R"(\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
    default:
      return {};
  }
}

size_t word_end(SplitKind kind, std::string_view text, size_t at) {
  return kind == SplitKind::gpt2 ? gpt2_end(text, at) : newer_expression_end(pattern_of(kind), text, at);
}

}  // namespace LINFORMER_NAMESPACE
