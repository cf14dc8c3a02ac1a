// Answerer: takes questions and contexts, and gives the spans of the contexts that answer the questions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <type_traits>

#include "linformer/model.h"
#include "linformer/text_input.h"
#include "linformer/version.h"

namespace LINFORMER_NAMESPACE {

// One answer to a question.
struct Answer {
  std::string_view text = {};  // The bytes of the context as it was given. Empty if no_answer is true.
  float score = 0;             // The sum of the probabilities of the spans with this text. It may be above 1.
  Offset offset = {};          // The place in the context. If several spans have this text, it is the first one's.
  // Whether the answer is that the context doesn't answer the question (AnswererOptions::no_answer).
  bool no_answer = false;
};

// The answers to one question. It is valid during the visit.
struct Answers {
  const TextReport& report;
  // The best answer comes first. Empty if the report has an error, and if no span can be an answer.
  std::span<const Answer> answers;
};

struct AnswererOptions {
  static constexpr int64_t default_window = 384, default_overlap = 128;  // In tokens.

  // How texts are read. max_tokens 0 means default_window, or the model's maximum if that is less. overlap -1 means
  // default_overlap, or half of max_tokens if that is less. on_long may also be truncate, which cuts the context, or
  // error. Only the context is cut or read by windows: truncation and keep are ignored.
  TextOptions texts = {.on_long = OnLong::window};
  int64_t max_answer_tokens = 15;  // The most tokens of a span.
  int64_t top_k = 1;               // The number of answers to a question. A short context may have fewer.
  // Whether one of the answers may be that there is none. It is for models that learned this (SQuAD 2).
  bool no_answer = false;
  int head = -1;  // The index of the model's head that gives the answers (HeadInfo::spans). -1: the first such head.
};

// Finds answers with a head that scores each token as the begin and as the end of an answer. It does what the question
// answering pipeline of Hugging Face's transformers 4 does without align_to_words. In each window, begins and ends get
// probabilities by a softmax over the context's tokens and the first token of the window, which stands for "no answer".
// The probability of a span is the product of the probabilities of its begin and its end. The top_k best spans of each
// window count; of spans with equal probabilities, the first is better. Spans whose texts are equal except for upper
// and lower case are one answer. The probability of "no answer" is the smallest one of all windows.
//
// An Answerer owns its tokenizer, sessions and threads, and shares the model. Not thread-safe: one call at a time.
// Movable.
class Answerer {
 public:
  // Returns the errors of Session and Tokenizer, and invalid_argument for a model without a head that answers, for a
  // head of another kind, and for options out of range.
  static Result<Answerer> create(std::shared_ptr<const Model> model, const AnswererOptions& options = {});

  // Answers each question, TextInput::text, from its context, TextInput::pair. It calls visit(context, index, answers)
  // for each question, in order, on this thread, until visit returns false. A question keeps its place and has an error
  // in its report if it has no context, or if it leaves the context no room in a window (TextReport::beyond). A
  // returned error concerns the whole call. Results depend neither on the other questions nor on the threads. Memory is
  // bounded whatever the number of questions. control.progress gets the share of the questions that are done.
  using Visit = bool (*)(void* context, size_t index, const Answers& answers);
  Status answer(const TextList& questions, Visit visit, void* context, const RunControl& control = {});
  // As above, with any callable object as `visit`.
  template <class Callable>
  requires std::is_invocable_r_v<bool, Callable&, size_t, const Answers&> Status
  answer(const TextList& questions, Callable&& visit, const RunControl& control = {}) {
    using Called = std::remove_reference_t<Callable>;
    return answer(
        questions,
        [](void* context, size_t index, const Answers& answers) -> bool {
          return (*static_cast<Called*>(context))(index, answers);
        },
        const_cast<void*>(static_cast<const void*>(&visit)), control);
  }

  // Returns the index of the head that gives the answers.
  int head() const;
  // Returns the most tokens of a window, including the question's.
  int64_t max_tokens() const;
  // Returns how many questions the threads compute together. A call with fewer questions may leave threads idle.
  size_t texts_at_once() const;
  // Returns the session of each thread, from which a caller can read the plan and the profile.
  std::span<const Session> sessions() const;

  Answerer(Answerer&&) noexcept;
  Answerer& operator=(Answerer&&) noexcept;
  ~Answerer();

 private:
  struct State;
  explicit Answerer(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace LINFORMER_NAMESPACE
