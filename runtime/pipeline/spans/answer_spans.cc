#include "pipeline/spans/answer_spans.h"

#include <algorithm>
#include <cmath>

#include "base/random.h"
#include "text/unicode.h"

namespace LINFORMER_NAMESPACE {
namespace {

// Computes the softmax of `logits` and, if `null` is not a null pointer, of the logit *null of "no answer". The
// probability of "no answer" is stored in *null_probability. Returns false if there is no memory.
bool softmax(std::span<const float> logits, const float* null, Array<double>* probabilities, double* null_probability) {
  if (!probabilities->try_resize_for_overwrite(logits.size())) return false;
  double most = null != nullptr ? static_cast<double>(*null) : -INFINITY;
  for (const float logit : logits) most = std::max(most, static_cast<double>(logit));
  *null_probability = null != nullptr ? std::exp(static_cast<double>(*null) - most) : 0;
  double sum = *null_probability;
  for (size_t i = 0; i < logits.size(); ++i) {
    (*probabilities)[i] = std::exp(static_cast<double>(logits[i]) - most);
    sum += (*probabilities)[i];
  }
  if (sum == 0) return true;  // There are no logits.
  *null_probability /= sum;
  for (double& probability : *probabilities) probability /= sum;
  return true;
}

// Returns the code point in lower case. U+0130 is returned unchanged: its lower case is "i" with a second code point
// for the dot, so it must not be equal to "i".
uint32_t without_case(uint32_t code_point) { return code_point == 0x130 ? code_point : lower_case(code_point); }

bool same_but_for_case(std::string_view a, std::string_view b) {
  size_t i = 0, j = 0;
  while (i < a.size() && j < b.size()) {
    if (without_case(next_repaired_code_point(a, &i)) != without_case(next_repaired_code_point(b, &j))) return false;
  }
  return i == a.size() && j == b.size();
}

}  // namespace

AnswerSpans::AnswerSpans(int64_t max_tokens, int64_t top_k, bool no_answer)
    : max_tokens_(static_cast<size_t>(max_tokens)),
      top_k_(static_cast<size_t>(top_k)),
      no_answer_(no_answer),
      point_(random_number() | 1) {}

bool AnswerSpans::start(std::string_view context) {
  null_score_ = 1;
  found_.clear();
  return points_.index(context);
}

bool AnswerSpans::better(const Span& a, const Span& b) {
  if (a.score != b.score) return a.score > b.score;
  return a.begin != b.begin ? a.begin < b.begin : a.end < b.end;
}

// Stores the top_k best spans of a window in best_, with the best first. Returns false if there is no memory.
bool AnswerSpans::select_best_spans(std::span<const double> begins, std::span<const double> ends) {
  best_.clear();
  for (size_t begin = 0; begin < begins.size(); ++begin) {
    const size_t end_of_ends = begin + std::min(max_tokens_, ends.size() - begin);
    for (size_t end = begin; end < end_of_ends; ++end) {
      const Span span{begins[begin] * ends[end], begin, end};
      if (best_.size() == top_k_) {
        if (!better(span, best_[0])) continue;
        std::pop_heap(best_.begin(), best_.end(), better);
        best_.pop_back();
      }
      if (!best_.try_push(span)) return false;
      std::push_heap(best_.begin(), best_.end(), better);
    }
  }
  std::sort_heap(best_.begin(), best_.end(), better);
  return true;
}

bool AnswerSpans::add(const SpanLogits& window) {
  double null_begin = 0, null_end = 0;
  if (!softmax(window.begins.span(), window.has_null ? &window.null_begin : nullptr, &begins_, &null_begin) ||
      !softmax(window.ends.span(), window.has_null ? &window.null_end : nullptr, &ends_, &null_end) ||
      !select_best_spans(begins_.span(), ends_.span())) {
    return false;
  }
  null_score_ = std::min(null_score_, null_begin * null_end);
  for (const Span& span : best_) {
    Answer answer;
    answer.offset = {window.offsets[span.begin].begin, window.offsets[span.end].end};
    answer.text = points_.text_of(answer.offset);
    if (!found_.try_push({answer, span.score, hash_of(answer.text), found_.size()})) return false;
  }
  return true;
}

// Returns a hash of the code points in lower case.
uint64_t AnswerSpans::hash_of(std::string_view text) const {
  uint64_t hash = 0;
  for (size_t at = 0; at < text.size();) {
    hash = (hash ^ without_case(next_repaired_code_point(text, &at))) * point_;
    hash ^= hash >> 29;
  }
  return hash;
}

// Merges spans whose texts differ at most in upper and lower case into the first of them, and adds their scores.
void AnswerSpans::merge_equal_answers() {
  std::sort(found_.begin(), found_.end(),
            [](const Found& a, const Found& b) { return a.hash != b.hash ? a.hash < b.hash : a.index < b.index; });
  size_t kept = 0, run = 0;  // `run` is the first of the kept spans that have the same hash as span i.
  for (size_t i = 0; i < found_.size(); ++i) {
    if (kept > 0 && found_[kept - 1].hash != found_[i].hash) run = kept;
    size_t same = run;
    while (same < kept && !same_but_for_case(found_[same].answer.text, found_[i].answer.text)) ++same;
    if (same < kept) {
      found_[same].score += found_[i].score;
    } else {
      found_[kept++] = found_[i];
    }
  }
  found_.truncate(kept);
}

bool AnswerSpans::finish(Array<Answer>* answers) {
  merge_equal_answers();
  if (no_answer_) {
    Answer none;
    none.no_answer = true;
    if (!found_.try_push({none, null_score_, 0, SIZE_MAX})) return false;
  }
  // Answers with equal scores stay in the order in which they were found.
  std::sort(found_.begin(), found_.end(),
            [](const Found& a, const Found& b) { return a.score != b.score ? a.score > b.score : a.index < b.index; });
  found_.truncate(std::min(found_.size(), top_k_));
  for (Found& found : found_) {
    found.answer.score = static_cast<float>(found.score);
    if (!answers->try_push(found.answer)) return false;
  }
  return true;
}

}  // namespace LINFORMER_NAMESPACE
