// The character properties behind Hugging Face's other normalizers, in the Unicode versions that they were built with.
#pragma once

#include <cstddef>
#include <cstdint>

#include "linformer/version.h"
#include "text/bert_unicode.h"

namespace LINFORMER_NAMESPACE {

bool is_combining_mark(uint32_t code_point);  // M*, Unicode 9

// Full compatibility decomposition of one code point (Unicode 11), like decompose().
size_t decompose_compatibly(uint32_t code_point, uint32_t* decomposed);

// The character that `first` and `second` compose to canonically, 0 when there is none.
uint32_t compose(uint32_t first, uint32_t second);

// Whether user-perceived characters (extended grapheme clusters) may be cut between two characters. *state is 0 at
// first, and later what the call before left there.
bool is_grapheme_boundary(uint32_t before, uint32_t after, int32_t* state);

}  // namespace LINFORMER_NAMESPACE
