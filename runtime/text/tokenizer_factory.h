// Makes tokenizers from descriptions, for models and for the converter, which has no model yet.
#pragma once

#include <memory>

#include "base/description.h"
#include "linformer/tokenizer.h"
#include "linformer/version.h"

namespace LINFORMER_NAMESPACE {

struct TokenizerFactory {
  // Makes a tokenizer. The views of `description` (bytes, offsets, ids, merges) must outlive the tokenizer, which keeps
  // `storage` alive; everything else is copied. Building the tables takes O(vocabulary) time and memory, once. Any
  // description is safe. Returns corrupt_file if the description contradicts itself, unsupported if this version
  // doesn't know its kind of tokenizer, and out_of_memory if there is no memory. If `always_match_mask` is true, the
  // mask token is found in texts even if EncodeOptions::match_special_tokens is false.
  static Result<Tokenizer> create(const TokenizerDescription& description,
                                  std::shared_ptr<const void> storage = nullptr, bool always_match_mask = false);
};

}  // namespace LINFORMER_NAMESPACE
