// Collects texts, or the vectors of texts, for one call of a session.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "linformer/session.h"

namespace linformer::cli {

// Closes when it has as many texts as the session planned, or the next one would take it over `max_rows` rows.
class Batch {
 public:
  Batch(const Session& session, int64_t max_rows)
      : max_texts_(session.plan().options.memory.max_batch),
        max_rows_(max_rows),
        prefix_rows_(session.output_rows(0)) {}
  explicit Batch(const Session& session) : Batch(session, session.plan().options.memory.max_rows) {}

  bool empty() const { return items_.empty(); }
  size_t size() const { return items_.size(); }
  // Returns whether `texts` more texts, which have `tokens` tokens or vectors together, may be added.
  bool fits(size_t tokens, int64_t texts = 1) const {
    return static_cast<int64_t>(items_.size()) + texts <= max_texts_ &&
           rows_ + static_cast<int64_t>(tokens) + texts * prefix_rows_ <= max_rows_;
  }
  // `types` may be empty.
  void add(std::span<const int32_t> ids, std::span<const uint8_t> types) {
    items_.push_back({ids_.size(), ids.size(), !types.empty()});
    ids_.insert(ids_.end(), ids.begin(), ids.end());
    types_.insert(types_.end(), types.begin(), types.end());
    types_.resize(ids_.size());
    rows_ += static_cast<int64_t>(ids.size()) + prefix_rows_;
  }
  // One text's vectors, `count` of them.
  void add_vectors(std::span<const float> values, int64_t count) {
    items_.push_back({values_.size(), values.size(), false});
    values_.insert(values_.end(), values.begin(), values.end());
    rows_ += count + prefix_rows_;
  }
  void clear() {
    items_.clear();
    ids_.clear();
    types_.clear();
    values_.clear();
    rows_ = 0;
  }
  // Valid until the next add() or clear().
  std::span<const Input> inputs() {
    inputs_.clear();
    for (const Item& item : items_) {
      Input input;
      if (values_.empty()) {
        input.tokens = {ids_.data() + item.start, item.size};
        if (item.types) input.types = {types_.data() + item.start, item.size};
      } else {
        input.vectors = {values_.data() + item.start, item.size};
      }
      inputs_.push_back(input);
    }
    return inputs_;
  }

 private:
  struct Item {
    size_t start, size;  // in ids_ or values_
    bool types;
  };
  int64_t max_texts_, max_rows_, prefix_rows_, rows_ = 0;
  std::vector<Item> items_;
  std::vector<int32_t> ids_;
  std::vector<uint8_t> types_;
  std::vector<float> values_;
  std::vector<Input> inputs_;
};

}  // namespace linformer::cli
