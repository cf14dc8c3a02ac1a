// What tokenizing one text yields before truncation and template.
#pragma once

#include <cstdint>

#include "base/array.h"
#include "linformer/version.h"

namespace LINFORMER_NAMESPACE {

inline constexpr int32_t unknown_piece = INT32_MIN;

struct Piece {
  int32_t token;        // internal token; unknown_piece; or ~i for added match i
  uint32_t begin, end;  // code points
};

// An added token found in the text. Its name is the text that it covered, stripped spaces included.
struct AddedMatch {
  int32_t id;
  uint32_t name_begin, name_end;  // bytes of Pieces::names
};

struct Pieces {
  Array<Piece> pieces;
  Array<uint32_t> word_starts;  // index of each word's first piece, ascending; an added token is a word
  Array<AddedMatch> matches;
  Array<char> names;

  [[nodiscard]] bool start_word() { return word_starts.try_push(static_cast<uint32_t>(pieces.size())); }

  void clear() {
    pieces.clear();
    word_starts.clear();
    matches.clear();
    names.clear();
  }
};

}  // namespace LINFORMER_NAMESPACE
