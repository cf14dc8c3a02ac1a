// GPT-2's pre-tokenisation and its printable alphabet for bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/array.h"
#include "linformer/version.h"

namespace LINFORMER_NAMESPACE {

// The end of the word that begins at text[at]: what GPT-2's pattern
//   's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
// matches there. `text` is valid UTF-8 and at < text.size(); the words cover the text without gaps.
// Cost: the word, plus one character of look-ahead.
size_t word_end(std::string_view text, size_t at);

// The printable stand-in for `byte`: itself where Latin-1 has a visible character, otherwise U+0100 and up in order.
uint32_t printable_of(uint8_t byte);

// Appends the printable form of `bytes` as UTF-8; false when there is no memory.
[[nodiscard]] bool append_printable(std::string_view bytes, Array<char>* printable);

}  // namespace LINFORMER_NAMESPACE
