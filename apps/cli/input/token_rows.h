// All token sequences of an encode run, held together: the output's shape depends on the longest.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "input/input_options.h"
#include "linformer/model.h"
#include "linformer/tokenizer.h"

namespace linformer::cli {

class TokenRows {
 public:
  // `types` may be empty.
  void add(std::span<const int32_t> ids, std::span<const uint8_t> types) {
    starts_.push_back(ids_.size());
    ids_.insert(ids_.end(), ids.begin(), ids.end());
    types_.insert(types_.end(), types.begin(), types.end());
    types_.resize(ids_.size());
  }
  // Takes out each `id`.
  void remove(int32_t id);
  size_t size() const { return starts_.size(); }
  std::span<const int32_t> operator[](size_t row) const { return {ids_.data() + starts_[row], length(row)}; }
  std::span<const uint8_t> types(size_t row) const { return {types_.data() + starts_[row], length(row)}; }
  bool rectangular = false;  // of an array, which gives all texts its width

 private:
  size_t length(size_t row) const { return (row + 1 < starts_.size() ? starts_[row + 1] : ids_.size()) - starts_[row]; }
  std::vector<int32_t> ids_;
  std::vector<uint8_t> types_;
  std::vector<size_t> starts_;
};

// Reads ids from an npy file or JSON lines of arrays, told apart by the first byte; `limit` rows at most, 0: all.
// Throws DataError naming the place of an id that the vocabulary lacks.
TokenRows read_ids(const std::string& path, const Model& model, size_t max_line_bytes, uint64_t limit);

struct TextRowOptions {
  EncodeOptions tokens;
  int64_t max_tokens = 0;
  bool allow_cut = true;  // otherwise a text with more tokens is a DataError
  bool apart = false;     // a record has two texts, which are two rows
};

// Tokenizes texts. Throws DataError for a bad record. `cut` counts texts that were truncated.
TokenRows read_texts(const InputOptions& input, const TextRowOptions& options, const Model& model,
                     const Tokenizer& tokenizer, uint64_t* cut);

}  // namespace linformer::cli
