// For comparisons with reference encodings alone.
#pragma once

#include <span>
#include <string_view>

#include "linformer/tokenizer.h"
#include "linformer/version.h"

namespace LINFORMER_NAMESPACE {

struct WholeWords {
  // As Tokenizer::encode(), but a text's length ends with the word with which it reaches max_length, as in the versions
  // of tokenizers that the reference encodings are from: of two texts that are both cut it may be the other one that
  // loses the odd token. And max_length below the template's own tokens is no error: the reference then gives the
  // template whole, and those words of each text, more than max_length tokens in all.
  static Status encode(const Tokenizer& tokenizer, std::span<const std::string_view> texts,
                       const EncodeOptions& options, Encoding* encoding) {
    return tokenizer.encode_texts(texts.data(), static_cast<int>(texts.size()), options, encoding, true);
  }
};

}  // namespace LINFORMER_NAMESPACE
