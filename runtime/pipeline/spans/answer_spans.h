// The best spans of a context from the logits of each token as a begin and as an end, one window after the other.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "base/array.h"
#include "linformer/answerer.h"
#include "linformer/version.h"
#include "pipeline/spans/code_points.h"

namespace LINFORMER_NAMESPACE {

// The tokens of one window that can begin or end an answer, in their order.
struct SpanLogits {
  bool has_null = false;  // the first token stands for no answer
  float null_begin = 0, null_end = 0;
  Array<float> begins, ends;  // of each token of the context
  Array<Offset> offsets;

  void clear() {
    has_null = false;
    begins.clear();
    ends.clear();
    offsets.clear();
  }
};

// Of one text at a time. Memory for the top_k best spans of each window.
class AnswerSpans {
 public:
  AnswerSpans(int64_t max_tokens, int64_t top_k, bool no_answer);

  // What was found before is forgotten. Functions return false where there is no memory.
  [[nodiscard]] bool start(std::string_view context);
  [[nodiscard]] bool add(const SpanLogits& window);
  // Appends the best answers of all windows to `answers`.
  [[nodiscard]] bool finish(Array<Answer>* answers);

 private:
  struct Span {
    double score;
    size_t begin, end;  // tokens of the window
  };
  // Of one text, whatever its case: the spans with this hash that are the same text are one answer.
  struct Found {
    Answer answer;
    double score;
    uint64_t hash;
    size_t index;
  };
  static bool better(const Span& a, const Span& b);
  bool select(std::span<const double> begins, std::span<const double> ends);
  uint64_t hash_of(std::string_view text) const;
  void merge();

  size_t max_tokens_, top_k_;
  bool no_answer_;
  uint64_t point_;  // of the hash: random, so that no context can make many spans share one
  CodePoints points_;
  double null_score_ = 1;        // of no answer: the least of the windows'
  Array<double> begins_, ends_;  // probabilities
  Array<Span> best_;             // of a window; a heap with the worst on top
  Array<Found> found_;           // of all windows
};

}  // namespace LINFORMER_NAMESPACE
