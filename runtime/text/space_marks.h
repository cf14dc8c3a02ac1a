// U+2581 in place of spaces, and names such as "<0x41>" in place of bytes, as unigram and BPE of characters use them.
#pragma once

#include <string_view>

#include "base/array.h"
#include "base/description.h"
#include "linformer/version.h"
#include "text/normalized_text.h"

namespace LINFORMER_NAMESPACE {

inline constexpr std::string_view space_mark = "\xE2\x96\x81";  // U+2581

// Sets *marked to `text`, which isn't empty, with a mark (U+2581) for each space. `origins` has, for each byte of
// `text`, the index of its code point in the original text. A mark is also put before the text as `prefix` says, unless
// the text begins with a space or a mark. Returns false if there is no memory.
[[nodiscard]] bool mark_spaces(std::string_view text, const uint32_t* origins, PrefixMark prefix,
                               NormalizedText* marked);

// Returns the byte that a name such as "<0x41>" stands for; -1 for other names.
int parse_byte_token(std::string_view name);

// How the names of tokens are decoded to text.
struct PieceDecoding {
  bool marks = false;              // U+2581 becomes a space.
  bool drops_first_marks = false;  // All U+2581 in the first token are dropped.
  bool bytes = false;              // A name such as "<0x41>" becomes a byte.

  bool is_byte_token(std::string_view name) const { return bytes && parse_byte_token(name) >= 0; }
  // Appends the text of the token `name`, which begins the decoded text if `first` is true. Returns false if there is
  // no memory.
  [[nodiscard]] bool append_decoded(std::string_view name, bool first, Array<char>* text) const;
};

}  // namespace LINFORMER_NAMESPACE
