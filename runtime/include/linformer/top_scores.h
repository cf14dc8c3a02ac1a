// TopScores: the best of a stream of scores.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "linformer/status.h"
#include "linformer/version.h"

namespace LINFORMER_NAMESPACE {

// A score, and what it is of: a document's or a row's number, from 0 on.
struct Scored {
  int64_t index = -1;
  float score = 0;
};

// Keeps the highest of the scores that were added; of equal scores, those with the lowest index. The result doesn't
// depend on the order of the additions. It takes memory for the scores that are kept, and none for the
// others. Not thread-safe; movable.
class TopScores {
 public:
  // `most`: scores that are kept; 0: all. Errors: invalid_argument for a negative number; out_of_memory.
  static Result<TopScores> create(int64_t most);

  // Takes a score. *dropped is the index of the one that is not kept because of it, perhaps this one; -1: there is
  // none. A score that is not a number is never kept. Errors: out_of_memory.
  Status add(int64_t index, float score, int64_t* dropped);
  // What is kept, best first; valid until the next add().
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
