// The character classes of BERT's normaliser and pre-tokeniser.
//
// The reference that everyone's results come from (Hugging Face's tokenizers) classes marks, punctuation and format
// characters by Unicode 8. Newer ones are ordinary characters to it, and so they are here.
#pragma once

#include <cstddef>
#include <cstdint>

#include "linformer/version.h"

namespace LINFORMER_NAMESPACE {

bool is_bert_punctuation(uint32_t code_point);       // P*, and all ASCII symbols
bool is_removed_by_clean_text(uint32_t code_point);  // U+FFFD, controls, formats, private use
bool is_cjk_ideograph(uint32_t code_point);          // the blocks that get spaces around each character
bool is_accent(uint32_t code_point);                 // Mn
int combining_class(uint32_t code_point);

// Full canonical decomposition of one code point, unordered; at most max_decomposition code points, the number of
// which is returned.
inline constexpr size_t max_decomposition = 18;
size_t decompose(uint32_t code_point, uint32_t* decomposed);

}  // namespace LINFORMER_NAMESPACE
