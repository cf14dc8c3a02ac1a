// TopScores: keeps the best of a stream of scores.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "linformer/status.h"
#include "linformer/version.h"

namespace LINFORMER_NAMESPACE {

// A score and the number, from 0 on, of the document or row that it belongs to.
struct Scored {
  int64_t index = -1;
  float score = 0;
};

// Keeps the highest of the scores that were added. Of equal scores, the ones with the lowest indices are kept. The
// result doesn't depend on the order in which scores are added. Only the scores that are kept take memory. Not
// thread-safe; movable.
class TopScores {
 public:
  // `most` is the number of scores that are kept. 0: all are kept. Returns invalid_argument for a negative number, and
  // out_of_memory.
  static Result<TopScores> create(int64_t most);

  // Adds a score. If this means that a score isn't kept, *dropped is its index, which may be `index` itself; otherwise
  // *dropped is -1. A score that isn't a number is never kept. Returns out_of_memory.
  Status add(int64_t index, float score, int64_t* dropped);
  // Returns the scores that were kept, the best first. Valid until the next add().
  std::span<const Scored> best();
  void clear();

  TopScores(TopScores&&) noexcept;
  TopScores& operator=(TopScores&&) noexcept;
  ~TopScores();

 private:
  struct State;
  explicit TopScores(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace LINFORMER_NAMESPACE
