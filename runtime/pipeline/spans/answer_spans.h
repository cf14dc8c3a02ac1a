// Finds the best spans of a context. Each token has a logit for being the first token of the answer and one for being
// the last. The windows of the context are added one after another.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "base/array.h"
#include "linformer/answerer.h"
#include "linformer/version.h"
#include "pipeline/spans/code_points.h"

namespace LINFORMER_NAMESPACE {

// The logits of the tokens of one window that can begin or end an answer, in the order of the tokens.
struct SpanLogits {
  bool has_null = false;               // The first token of the window stands for "no answer".
  float null_begin = 0, null_end = 0;  // The logits of that token.
  Array<float> begins, ends;           // The logits of each token of the context.
  Array<Offset> offsets;               // The place of each token in the context.

  void clear() {
    has_null = false;
    begins.clear();
    ends.clear();
    offsets.clear();
  }
};

// Collects the answers of one text at a time. It holds the `top_k` best spans of each window of the text. With
// `no_answer`, "no answer" is one of the answers. Functions return false if there is no memory.
class AnswerSpans {
 public:
  AnswerSpans(int64_t max_tokens, int64_t top_k, bool no_answer);

  // Starts a new text and forgets the spans of the last one.
  [[nodiscard]] bool start(std::string_view context);
  [[nodiscard]] bool add(const SpanLogits& window);
  // Appends the best answers of all windows to `answers`.
  [[nodiscard]] bool finish(Array<Answer>* answers);

 private:
  struct Span {
    double score;
    size_t begin, end;  // The first and the last token, as indices into SpanLogits.
  };
  // A span that was found. Spans whose texts differ only in case have the same hash and are merged into one answer.
  struct Found {
    Answer answer;
    double score;
    uint64_t hash;
    size_t index;
  };
  static bool better(const Span& a, const Span& b);
  bool select_best_spans(std::span<const double> begins, std::span<const double> ends);
  uint64_t hash_of(std::string_view text) const;
  void merge_equal_answers();

  size_t max_tokens_, top_k_;
  bool no_answer_;
  uint64_t point_;  // A random factor of the hash, so that no context can be made to give many spans the same hash.
  CodePoints points_;
  double null_score_ = 1;        // The score of "no answer", which is the lowest that a window gives it.
  Array<double> begins_, ends_;  // The probabilities of a window's tokens.
  Array<Span> best_;             // The best spans of a window, as a heap with the worst span on top.
  Array<Found> found_;           // The best spans of all windows.
};

}  // namespace LINFORMER_NAMESPACE
