// Reranker: takes a query and documents, and gives a score that says how well each document answers the query.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <type_traits>

#include "linformer/model.h"
#include "linformer/text_input.h"
#include "linformer/top_scores.h"
#include "linformer/version.h"

namespace LINFORMER_NAMESPACE {

struct RerankerOptions {
  TextOptions texts = {};
  // The index of the classification head that gives the scores. It must have one output and read query and document as
  // a pair (a cross-encoder), or it must compare two texts and have one output or two. -1: the model's first head of
  // the first kind, or else its first head of the second kind.
  int head = -1;
  // Whether the scores are the head's outputs, without an activation.
  bool logits = false;
};

// Scores pairs of a query and a document. For a head of HeadKind::score, the score is the model's own activation of the
// output (HeadInfo::score_activation). For other heads it is the sigmoid of the output, as in sentence-transformers'
// CrossEncoder with one label. If a head has two outputs, the second of which says that the texts belong together, the
// output is the second minus the first.
//
// A Reranker owns its tokenizer, sessions and threads, and shares the model. Not thread-safe: one call at a time.
// Movable.
class Reranker {
 public:
  // Returns the errors of Session and Tokenizer; unsupported if the model has no suitable head; invalid_argument if
  // `head` is another kind of head, and for options that don't fit the model.
  static Result<Reranker> create(std::shared_ptr<const Model> model, const RerankerOptions& options = {});

  // Calls visit(context, index, report, score) for each pair, in order, on this thread, until visit returns false.
  // TextInput::text is the query, and TextInput::pair the document. A pair that can't be read keeps its place, has an
  // error in its report, and its score is NaN. A returned error concerns the whole call. A score depends only on its
  // two texts. Memory is bounded whatever the number of pairs. control.progress gets the share of the pairs that are
  // done.
  using Visit = bool (*)(void* context, size_t index, const TextReport& report, float score);
  Status score(const TextList& pairs, Visit visit, void* context, const RunControl& control = {});
  // As above, with any callable object as `visit`.
  template <class Callable>
  requires std::is_invocable_r_v<bool, Callable&, size_t, const TextReport&, float> Status
  score(const TextList& pairs, Callable&& visit, const RunControl& control = {}) {
    using Called = std::remove_reference_t<Callable>;
    return score(
        pairs,
        [](void* context, size_t index, const TextReport& report, float score) -> bool {
          return (*static_cast<Called*>(context))(index, report, score);
        },
        const_cast<void*>(static_cast<const void*>(&visit)), control);
  }

  // Writes the documents with the highest scores to `best`, as many as it has room for, with the best first and
  // documents of equal scores in their order. *count gets their number. Of the documents, only TextInput::text is read.
  // If a document can't be scored, it returns an error that names the first such document, and `best` is unspecified,
  // as after any other error. Memory doesn't grow with the number of documents, only with `best`.
  Status rank(std::string_view query, const TextList& documents, std::span<Scored> best, size_t* count,
              const RunControl& control = {});

  // Returns the index of the head that gives the scores.
  int head() const;
  // Returns the number of tokens that a query and its document are cut to together, or each if the head compares two
  // texts.
  int64_t max_tokens() const;
  // Returns how many pairs the threads compute together. A call with fewer pairs may leave threads idle.
  size_t texts_at_once() const;
  // Returns the session of each thread, from which a caller can read the plan and the profile.
  std::span<const Session> sessions() const;

  Reranker(Reranker&&) noexcept;
  Reranker& operator=(Reranker&&) noexcept;
  ~Reranker();

 private:
  struct State;
  explicit Reranker(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace LINFORMER_NAMESPACE
