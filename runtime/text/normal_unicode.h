// The character properties that Hugging Face's normalizers other than BERT's use, in the Unicode versions with which
// these normalizers were built.
#pragma once

#include <cstddef>
#include <cstdint>

#include "linformer/version.h"
#include "text/bert_unicode.h"

namespace LINFORMER_NAMESPACE {

bool is_combining_mark(uint32_t code_point);  // The categories M* of Unicode 9.

// Writes the full compatibility decomposition of one code point (Unicode 11). Otherwise the same as decompose().
size_t decompose_compatibly(uint32_t code_point, uint32_t* decomposed);

// Returns the character that `first` and `second` compose to canonically; 0 if there is none.
uint32_t compose(uint32_t first, uint32_t second);

// Returns whether a text may be split between two characters without splitting a user-perceived character (extended
// grapheme cluster). The caller sets *state to 0 before the first call and leaves it unchanged between calls.
bool is_grapheme_boundary(uint32_t before, uint32_t after, int32_t* state);

}  // namespace LINFORMER_NAMESPACE
