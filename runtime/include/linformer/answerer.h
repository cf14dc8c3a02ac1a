// Answerer: questions and contexts in, the spans of the contexts that answer them out.
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

struct Answer {
  std::string_view text = {};  // these bytes of the context as given; empty where there is no answer
  float score = 0;             // the sum of the probabilities of the spans of this text; may be above 1
  Offset offset = {};          // in the context; of several spans the first one's
  bool no_answer = false;      // that the context doesn't answer the question (AnswererOptions::no_answer)
};

// The answers to one question. Valid during the visit.
struct Answers {
  const TextReport& report;
  std::span<const Answer> answers;  // best first; empty where the report has an error, and where nothing can be one
};

struct AnswererOptions {
  static constexpr int64_t default_window = 384, default_overlap = 128;  // tokens

  // max_tokens 0: default_window, or the model's N where that is less. overlap -1: default_overlap, or half of
  // max_tokens where that is less. on_long may also be truncate (the context) or error. The context alone is cut or
  // read by windows, whatever the truncation says; keep isn't looked at.
  TextOptions texts = {.on_long = OnLong::window};
  int64_t max_answer_tokens = 15;  // of a span
  int64_t top_k = 1;               // answers to a question; a short context has fewer
  bool no_answer = false;          // an answer may be that there is none: for models that learned it (SQuAD 2)
  int head = -1;                   // of the model's heads one that answers (HeadInfo::spans); -1: the first such
};

// What a head says that scores each token as the begin and as the end of an answer, as the question answering pipeline
// of Hugging Face's transformers 4 makes it, without its align_to_words. In each window begins and ends have
// probabilities by softmax over the context's tokens and the first token, which stands for no answer. A span's
// probability is the product of its begin's and its end's. Of each window the top_k best spans count, and of equal ones
// the first; those of the same text, but for upper and lower case, are one answer. The probability of no answer is the
// least of the windows'.
//
// Owns its tokenizer, sessions and threads; shares the model. Not thread-safe: one call at a time. Movable.
class Answerer {
 public:
  // Errors: those of Session and Tokenizer, and invalid_argument for a model without a head that answers, for a head
  // that is another, and for options out of range.
  static Result<Answerer> create(std::shared_ptr<const Model> model, const AnswererOptions& options = {});

  // TextInput::text is a question and TextInput::pair its context. visit(context, index, answers) for each, in order,
  // on this thread. A question without a context, and one that leaves the context no room in a window
  // (TextReport::beyond), has an error in its report and keeps its place; an error returned is of the call itself.
  // visit returns whether more are wanted. Results don't depend on what runs beside a question, nor on threads. Memory
  // is bounded whatever the number of questions; progress counts them.
  using Visit = bool (*)(void* context, size_t index, const Answers& answers);
  Status answer(const TextList& questions, Visit visit, void* context, const RunControl& control = {});
  // The same for a callable.
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

  // The head that is asked: its index in the model.
  int head() const;
  // Tokens of a window, the question's among them.
  int64_t max_tokens() const;
  // Questions that are worked on at once: calls with fewer leave threads idle.
  size_t texts_at_once() const;
  // One for each thread: their plan and profile (Session::profile).
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
