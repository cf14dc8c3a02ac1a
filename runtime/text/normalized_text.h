// Normalised text that knows where it came from.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/array.h"
#include "linformer/version.h"

namespace LINFORMER_NAMESPACE {

// What a normalised text may have for each character of the original, for each byte where SentencePiece normalises: the
// longest compatibility decomposition has 18, and a mark goes before the text.
inline constexpr size_t max_growth = 64;

// For each byte the code point of the original that it stems from.
struct NormalizedText {
  Array<char> bytes;
  Array<uint32_t> origins;
  // Between the steps.
  struct Character {
    uint32_t code_point;
    uint32_t origin;
  };
  struct Part {
    uint32_t code_point;
    uint8_t combining_class;
    bool added;
  };
  // A new character: change > 0 = put in, sharing the origin of what is before it; otherwise it stands for one
  // character and, where change < 0, for as many more behind that.
  struct Change {
    uint32_t code_point;
    int32_t change;
  };
  Array<Character> characters, kept;
  Array<Part> run;
  Array<Change> changes;
  size_t limit = SIZE_MAX;  // of characters
  bool too_long = false;    // the limit was reached

  std::string_view view() const { return {bytes.data(), bytes.size()}; }
};

}  // namespace LINFORMER_NAMESPACE
