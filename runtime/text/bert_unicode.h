// The character classes of BERT's normaliser and pre-tokeniser.
//
// The reference, Hugging Face's tokenizers, classifies marks, punctuation and format characters by Unicode 8. It treats
// newer ones as ordinary characters, and so do these functions.
#pragma once

#include <cstddef>
#include <cstdint>

#include "linformer/version.h"

namespace LINFORMER_NAMESPACE {

bool is_bert_punctuation(uint32_t code_point);       // The categories P*, and all ASCII symbols.
bool is_removed_by_clean_text(uint32_t code_point);  // U+FFFD; control (not \t, \n, \r), format and private use.
bool is_cjk_ideograph(uint32_t code_point);          // The blocks whose characters get spaces around them.
bool is_accent(uint32_t code_point);                 // The category Mn.
int combining_class(uint32_t code_point);

// Writes the full canonical decomposition of one code point, not yet in canonical order, and returns its length in code
// points, which is at most max_decomposition.
inline constexpr size_t max_decomposition = 18;
size_t decompose(uint32_t code_point, uint32_t* decomposed);

}  // namespace LINFORMER_NAMESPACE
