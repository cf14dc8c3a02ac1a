// Encodes as older versions of Hugging Face's tokenizers do. Used only to compare with reference encodings.
#pragma once

#include <span>
#include <string_view>

#include "linformer/tokenizer.h"
#include "linformer/version.h"

namespace LINFORMER_NAMESPACE {

struct LegacyTruncation {
  // Encodes as Tokenizer::encode() does, but with two properties of the versions of tokenizers that made the reference
  // encodings. They count the length of a text only up to the word with which it reaches max_length, so if both texts
  // are cut and the room is odd, the text that gets one token less may be the other one than in Tokenizer::encode().
  // And a max_length that is less than the template's own tokens is no error: the result has the whole template and
  // each text up to the end of that word, and so more than max_length tokens.
  static Status encode(const Tokenizer& tokenizer, std::span<const std::string_view> texts,
                       const EncodeOptions& options, Encoding* encoding) {
    return tokenizer.encode_texts(texts.data(), static_cast<int>(texts.size()), options, encoding, true);
  }
};

}  // namespace LINFORMER_NAMESPACE
