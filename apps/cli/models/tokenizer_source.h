// A tokenizer together with what its description's views point into.
#pragma once

#include <memory>
#include <string>

#include "linformer/tokenizer.h"

namespace linformer::cli {

class TokenizerSource {
 public:
  static TokenizerSource from_model(const std::string& path);
  // A folder with vocab.json and merges.txt, tokenizer.json or vocab.txt, and perhaps dict.txt. Throws DataError when
  // it can't be read, or when this program was built without the converter.
  static TokenizerSource from_directory(const std::string& path);

  const Tokenizer& tokenizer() const { return tokenizer_; }

 private:
  TokenizerSource(std::shared_ptr<const void> storage, Tokenizer tokenizer)
      : storage_(std::move(storage)), tokenizer_(std::move(tokenizer)) {}

  std::shared_ptr<const void> storage_;  // declared first: outlives the tokenizer
  Tokenizer tokenizer_;
};

}  // namespace linformer::cli
