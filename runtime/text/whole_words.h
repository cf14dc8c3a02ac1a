// For comparisons with reference encodings alone.
#pragma once

#include <span>
#include <string_view>

#include "linformer/tokenizer.h"
#include "linformer/version.h"

namespace LINFORMER_NAMESPACE {

struct WholeWords {
  // As Tokenizer::encode(), but max_length below the template's own tokens is no error. The reference then gives the
  // template whole, and of each text the words up to the one with which it has max_length tokens: more than max_length
  // in all.
  static Status encode(const Tokenizer& tokenizer, std::span<const std::string_view> texts,
                       const EncodeOptions& options, Encoding* encoding) {
    return tokenizer.encode_texts(texts.data(), static_cast<int>(texts.size()), options, encoding, true);
  }
};

}  // namespace LINFORMER_NAMESPACE
