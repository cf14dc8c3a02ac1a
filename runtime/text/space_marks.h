// U+2581 in place of spaces, and "<0x41>" in place of bytes: what unigram and BPE of characters write and read.
#pragma once

#include <string_view>

#include "base/array.h"
#include "base/description.h"
#include "linformer/version.h"
#include "text/normalized_text.h"

namespace LINFORMER_NAMESPACE {

inline constexpr std::string_view space_mark = "\xE2\x96\x81";  // U+2581

// Replaces *marked by `text`, whose bytes have the code points `origins`, with marks for its spaces. A mark goes before
// it too as `prefix` says, unless it begins with one. `text` isn't empty. False when there is no memory.
[[nodiscard]] bool mark_spaces(std::string_view text, const uint32_t* origins, PrefixMark prefix,
                               NormalizedText* marked);

// The byte that "<0x41>" names, -1 for other names.
int byte_of_name(std::string_view name);

// How tokens become text again.
struct PieceDecoding {
  bool marks = false;              // U+2581 is a space
  bool drops_first_marks = false;  // all of those in the first token are nothing
  bool bytes = false;              // "<0x41>" is a byte

  bool is_byte(std::string_view name) const { return bytes && byte_of_name(name) >= 0; }
  // Appends what the token `name` stands for; `first` where it begins a text. False when there is no memory.
  [[nodiscard]] bool append(std::string_view name, bool first, Array<char>* text) const;
};

}  // namespace LINFORMER_NAMESPACE
