// Tokenizers of descriptions, for models and for the converter, which has none yet.
#pragma once

#include <memory>

#include "base/description.h"
#include "linformer/tokenizer.h"
#include "linformer/version.h"

namespace LINFORMER_NAMESPACE {

struct TokenizerFactory {
  // The views of `description` (bytes, offsets, ids, merges) must outlive the tokenizer, which keeps `storage`; the
  // rest is copied. Builds the hash tables: O(vocabulary) time and memory, once. Safe on any description: one that
  // contradicts itself is corrupt_file, a kind that this build lacks is unsupported, no memory is out_of_memory.
  // `matches_mask`: a mask written in a text is one even where EncodeOptions::match_special_tokens is false.
  static Result<Tokenizer> create(const TokenizerDescription& description,
                                  std::shared_ptr<const void> storage = nullptr, bool matches_mask = false);
};

}  // namespace LINFORMER_NAMESPACE
