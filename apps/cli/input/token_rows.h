// Holds token sequences in memory. `linformer encode` reads all of them before it runs the model, because the shape of
// its output depends on the longest one.
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
  // Adds a sequence. `types` may be empty; all types are then 0.
  void add(std::span<const int32_t> ids, std::span<const uint8_t> types) {
    starts_.push_back(ids_.size());
    ids_.insert(ids_.end(), ids.begin(), ids.end());
    types_.insert(types_.end(), types.begin(), types.end());
    types_.resize(ids_.size());
  }
  // Removes all tokens that are equal to `id`.
  void remove(int32_t id);
  size_t size() const { return starts_.size(); }
  std::span<const int32_t> operator[](size_t row) const { return {ids_.data() + starts_[row], length(row)}; }
  std::span<const uint8_t> types(size_t row) const { return {types_.data() + starts_[row], length(row)}; }
  bool rectangular = false;  // True if the ids come from an npy array, whose rows all have the same length.

 private:
  size_t length(size_t row) const { return (row + 1 < starts_.size() ? starts_[row + 1] : ids_.size()) - starts_[row]; }
  std::vector<int32_t> ids_;
  std::vector<uint8_t> types_;
  std::vector<size_t> starts_;
};

// Reads ids from an npy file, or from lines that are JSON arrays. The first byte tells which of the two the file is.
// Reads at most `limit` rows, or all rows if it is 0. Throws DataError for an id that is outside the vocabulary; the
// message names its row or line.
TokenRows read_ids(const std::string& path, const Model& model, size_t max_line_bytes, uint64_t limit);

struct TextRowOptions {
  EncodeOptions tokens;
  int64_t max_tokens = 0;
  bool allow_cut = true;  // If false, a text with more than max_tokens is a DataError.
  bool apart = false;     // If true, each record must have two texts, and each text becomes a row.
};

// Tokenizes texts. Throws DataError for a bad record. Adds the number of texts that were truncated to *cut.
TokenRows read_texts(const InputOptions& input, const TextRowOptions& options, const Model& model,
                     const Tokenizer& tokenizer, uint64_t* cut);

}  // namespace linformer::cli
