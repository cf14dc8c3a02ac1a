// A tokenizer of any kind with made-up tokens, for a model with a vocabulary of any size.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/description.h"

namespace linformer_test {

class RandomTokenizer {
 public:
  // Depends on its arguments alone. `token_types` is the model's number of token types, where 0 means the same as 1. Id
  // 1 is the padding token, as in random_model(). `unusual` adds what the format permits but no trained tokenizer has,
  // such as empty templates and tokens without ids.
  RandomTokenizer(linformer::TokenizerKind kind, uint64_t seed, uint32_t vocabulary, uint32_t token_types,
                  bool unusual);
  RandomTokenizer(const RandomTokenizer&) = delete;
  RandomTokenizer& operator=(const RandomTokenizer&) = delete;

  // The description's views are valid as long as this object exists.
  const linformer::TokenizerDescription& description() const { return description_; }

 private:
  void add_token(const std::string& bytes);
  void add_wordpiece();
  void add_byte_bpe();
  void add_bpe(uint64_t seed);
  void add_unigram(uint64_t seed);
  void make_unusual(uint64_t seed, uint32_t vocabulary, uint32_t token_types);

  linformer::TokenizerDescription description_;
  std::string bytes_;
  std::vector<uint32_t> offsets_ = {0}, merges_;
  std::vector<int32_t> ids_;
  std::vector<float> scores_;
};

}  // namespace linformer_test
