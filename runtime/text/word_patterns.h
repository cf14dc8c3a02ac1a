// The expressions by which byte-pair encoders cut a text into words, each as a scanner of its own.
#pragma once

#include <cstddef>
#include <string_view>

#include "base/description.h"
#include "linformer/version.h"

namespace LINFORMER_NAMESPACE {

// A split by one of the expressions, not by single characters or a text.
constexpr bool is_word_pattern(SplitKind kind) { return kind <= SplitKind::tekken; }

// The regular expression of a kind for which is_word_pattern() holds, as tokenizer.json files write it.
std::string_view expression_of(SplitKind kind);

// The end of the word that begins at text[at]: what the kind's expression matches there. `text` is valid UTF-8 and
// at < text.size(); the words cover the text without gaps. Reads each character of the word, and of the white space
// behind it, a fixed number of times.
size_t word_end(SplitKind kind, std::string_view text, size_t at);

}  // namespace LINFORMER_NAMESPACE
