// The regular expressions by which BPE tokenizers split a text into words, implemented as scanners.
#pragma once

#include <cstddef>
#include <string_view>

#include "base/description.h"
#include "linformer/version.h"

namespace LINFORMER_NAMESPACE {

// Returns whether a kind of split is one of the expressions. The other kinds split at single characters or at a text.
constexpr bool is_word_pattern(SplitKind kind) { return kind <= SplitKind::tekken; }

// Returns the regular expression of a kind, as tokenizer.json files write it. is_word_pattern(kind) must be true.
std::string_view regular_expression_of(SplitKind kind);

// Returns the end of the word that begins at text[at], which is the end of the match of the kind's expression. `text`
// is valid UTF-8, and at < text.size(). The words cover the text without gaps. Reads each character of the word, and of
// the white space after it, a fixed number of times.
size_t word_end(SplitKind kind, std::string_view text, size_t at);

}  // namespace LINFORMER_NAMESPACE
