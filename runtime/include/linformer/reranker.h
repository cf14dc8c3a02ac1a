// Reranker: a query and documents in, how well each document answers the query out.
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
  // A classification head with one output, which reads query and document as a pair (a cross-encoder), or one that
  // compares two texts and has one output or two. -1: the model's first head of the first kind, else of the second.
  int head = -1;
  // Scores are the head's outputs as they are.
  bool logits = false;
};

// A score is what the model's own activation makes of the head's output where the head is a score
// (HeadInfo::score_activation), and its sigmoid where it is another kind of head: as sentence-transformers'
// CrossEncoder has it for one label. Of a head with two outputs, whose second one says that the texts belong together,
// the output is the second less the first.
//
// Owns its tokenizer, sessions and threads; shares the model. Not thread-safe: one call at a time. Movable.
class Reranker {
 public:
  // Errors: those of Session and Tokenizer; unsupported where the model has no such head; invalid_argument for a head
  // that is not one, and for options that don't fit the model.
  static Result<Reranker> create(std::shared_ptr<const Model> model, const RerankerOptions& options = {});

  // visit(context, index, report, score) for each query and document, in order, on this thread: TextInput::text is the
  // query, and TextInput::pair the document. The score of one that can't be read is NaN: it has an error in its report
  // and keeps its place; an error returned is of the call itself. visit returns whether more are wanted. A score
  // depends on its two texts alone. Memory is bounded whatever the number of pairs; progress counts pairs.
  using Visit = bool (*)(void* context, size_t index, const TextReport& report, float score);
  Status score(const TextList& pairs, Visit visit, void* context, const RunControl& control = {});
  // The same for a callable.
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

  // The best of `documents` for a query, best first, equal ones in their order: as many as `best` has room for.
  // *count: how many these are. Of the documents only TextInput::text is read. The first document without a score is
  // the error, which names it; `best` is then unspecified, as after an error of the call itself. Memory is that of
  // `best`, whatever the number of documents.
  Status rank(std::string_view query, const TextList& documents, std::span<Scored> best, size_t* count,
              const RunControl& control = {});

  // The head that gives the scores.
  int head() const;
  // Tokens that query and document are cut to together, or each where the head compares two texts.
  int64_t max_tokens() const;
  // Pairs that are worked on at once: calls with fewer leave threads idle.
  size_t texts_at_once() const;
  // One for each thread: their plan and profile (Session::profile).
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
