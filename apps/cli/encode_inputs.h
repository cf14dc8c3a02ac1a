// All token sequences of an encode run, held together: the output's shape depends on the longest.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "flags.h"
#include "linformer/model.h"

namespace linformer::cli {

class TokenRows {
 public:
  void add(std::span<const int32_t> ids) {
    starts_.push_back(ids_.size());
    ids_.insert(ids_.end(), ids.begin(), ids.end());
  }
  size_t size() const { return starts_.size(); }
  std::span<const int32_t> operator[](size_t row) const {
    const size_t end = row + 1 < starts_.size() ? starts_[row + 1] : ids_.size();
    return {ids_.data() + starts_[row], end - starts_[row]};
  }

 private:
  std::vector<int32_t> ids_;
  std::vector<size_t> starts_;
};

// Reads ids from an npy file or JSON lines of arrays, told apart by the first byte. Throws DataError naming the place
// of an id that the vocabulary lacks.
TokenRows read_ids(const std::string& path, const Model& model, size_t max_line_bytes);

// Tokenizes texts. Throws DataError for a bad record. `cut` counts texts that were truncated to `max_tokens`; with
// `allow_cut` false such a text is a DataError.
TokenRows read_texts(const InputFlags& input, const TokenFlags& tokens, const Model& model, const Tokenizer& tokenizer,
                     int64_t max_tokens, bool allow_cut, uint64_t* cut);

}  // namespace linformer::cli
