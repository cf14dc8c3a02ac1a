// A normalised text, with the place in the original text from which each of its bytes comes.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/array.h"
#include "linformer/version.h"

namespace LINFORMER_NAMESPACE {

// The most characters that a normalised text may have for each character of the original text (in SentencePiece's way:
// bytes for each byte). The longest compatibility decomposition has 18 characters, and a mark may be put before the
// text.
inline constexpr size_t max_growth = 64;

struct NormalizedText {
  Array<char> bytes;
  Array<uint32_t> origins;  // For each byte, the code point of the original text from which the byte comes.
  // The members from here on hold the text between two steps of normalisation.
  struct Character {
    uint32_t code_point;
    uint32_t origin;
  };
  struct Part {
    uint32_t code_point;
    uint8_t combining_class;
    bool added;
  };
  // A new character. If change > 0, it is inserted, and has the same origin as the character before it. Otherwise it
  // replaces one character and the -change characters after it.
  struct Change {
    uint32_t code_point;
    int32_t change;
  };
  Array<Character> characters, kept;
  Array<Part> run;
  Array<Change> changes;
  size_t limit = SIZE_MAX;  // The most characters (in SentencePiece's way: bytes) that the text may have.
  bool too_long = false;    // Whether the text would have exceeded the limit.

  std::string_view view() const { return {bytes.data(), bytes.size()}; }
};

}  // namespace LINFORMER_NAMESPACE
