// Classifier: strings in, the scores of classification heads out.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <type_traits>

#include "linformer/model.h"
#include "linformer/text_input.h"
#include "linformer/version.h"

namespace LINFORMER_NAMESPACE {

// What the heads say of one text: of each head its logits, and what its kind makes of them (Output::probabilities).
// The means of its windows, where it was read in several. Valid during the visit.
struct Classification {
  const TextReport& report;
  std::span<const float> values;  // [heads][logits, probabilities]; empty where the report has an error
  std::span<const int64_t> classes;

  // `head` is an index into the classifier's heads.
  std::span<const float> logits(size_t head = 0) const { return part(head, 0); }
  std::span<const float> probabilities(size_t head = 0) const { return part(head, 1); }

 private:
  std::span<const float> part(size_t head, size_t which) const {
    size_t offset = 0;
    for (size_t i = 0; i < head; ++i) offset += 2 * static_cast<size_t>(classes[i]);
    const size_t size = static_cast<size_t>(classes[head]);
    return values.empty() ? values : values.subspan(offset + which * size, size);
  }
};

struct ClassifierOptions {
  TextOptions texts = {};
  // The model's classification heads to ask, all in one pass; empty: the first one. Heads that compare two texts don't
  // go with others, and heads that score each token with none (Session).
  std::span<const int> heads = {};
};

// Owns its tokenizer, sessions and threads; shares the model. Not thread-safe: one call at a time. Movable.
class Classifier {
 public:
  // Errors: those of Session and Tokenizer, and invalid_argument for heads and options that don't fit the model.
  static Result<Classifier> create(std::shared_ptr<const Model> model, const ClassifierOptions& options = {});

  // probabilities[i * classes() + c], of the first head, for any number of texts. The first text without an answer is
  // the error, which names it; `probabilities` is then unspecified, as after an error of the call itself.
  Status classify(const TextList& texts, std::span<float> probabilities, const RunControl& control = {});
  // visit(context, index, classification) for each text, in order, on this thread. A text that can't be read has an
  // error in its report and keeps its place; an error returned is of the call itself. visit returns whether more are
  // wanted. Memory is bounded whatever the number of texts; progress counts texts.
  using Visit = bool (*)(void* context, size_t index, const Classification& classification);
  Status classify(const TextList& texts, Visit visit, void* context, const RunControl& control = {});
  // The same for a callable.
  template <class Callable>
  requires std::is_invocable_r_v<bool, Callable&, size_t, const Classification&> Status
  classify(const TextList& texts, Callable&& visit, const RunControl& control = {}) {
    using Called = std::remove_reference_t<Callable>;
    return classify(
        texts,
        [](void* context, size_t index, const Classification& classification) -> bool {
          return (*static_cast<Called*>(context))(index, classification);
        },
        const_cast<void*>(static_cast<const void*>(&visit)), control);
  }

  // Outputs of a head, by its index in ClassifierOptions::heads.
  int64_t classes(size_t head = 0) const;
  // Tokens, or vectors, that a text is cut to.
  int64_t max_tokens() const;
  // How many texts the session runs in parallel. Calls with fewer texts do not use all threads.
  size_t texts_at_once() const;
  // One for each thread: their plan and profile (Session::profile).
  std::span<const Session> sessions() const;

  Classifier(Classifier&&) noexcept;
  Classifier& operator=(Classifier&&) noexcept;
  ~Classifier();

 private:
  struct State;
  explicit Classifier(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace LINFORMER_NAMESPACE
