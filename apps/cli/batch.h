// Token sequences gathered for one call of a session.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "linformer/session.h"

namespace linformer::cli {

// Closes when it has `max_texts` texts or the next one would take it over `max_rows` tokens: what a session planned.
class Batch {
 public:
  Batch(int64_t max_texts, int64_t max_rows) : max_texts_(max_texts), max_rows_(max_rows) {}

  bool empty() const { return starts_.empty(); }
  bool fits(size_t tokens) const {
    return static_cast<int64_t>(starts_.size()) < max_texts_ && static_cast<int64_t>(ids_.size() + tokens) <= max_rows_;
  }
  void add(std::span<const int32_t> ids) {
    starts_.push_back(ids_.size());
    ids_.insert(ids_.end(), ids.begin(), ids.end());
  }
  void clear() {
    ids_.clear();
    starts_.clear();
  }
  int64_t rows() const { return static_cast<int64_t>(ids_.size()); }
  // Valid until the next add() or clear().
  std::span<const Tokens> texts() {
    texts_.clear();
    for (size_t i = 0; i < starts_.size(); ++i) {
      const size_t end = i + 1 < starts_.size() ? starts_[i + 1] : ids_.size();
      texts_.emplace_back(ids_.data() + starts_[i], end - starts_[i]);
    }
    return texts_;
  }

 private:
  int64_t max_texts_, max_rows_;
  std::vector<int32_t> ids_;
  std::vector<size_t> starts_;
  std::vector<Tokens> texts_;
};

}  // namespace linformer::cli
