// The tokens of one text before it is truncated and put into the template.
#pragma once

#include <cstdint>

#include "base/array.h"
#include "linformer/version.h"

namespace LINFORMER_NAMESPACE {

inline constexpr int32_t unknown_piece = INT32_MIN;

struct Piece {
  int32_t token;        // An internal token, unknown_piece, or ~i for element i of Pieces::matches.
  uint32_t begin, end;  // In code points of the text.
};

// An added token that was found in the text, or an unknown piece of unigram. Its name is the text that it covers,
// including white space that an added token takes.
struct AddedMatch {
  int32_t id;
  uint32_t name_begin, name_end;  // In bytes of Pieces::names.
};

struct Pieces {
  Array<Piece> pieces;
  Array<uint32_t> word_starts;  // The index of each word's first piece, in ascending order. An added token is a word.
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
