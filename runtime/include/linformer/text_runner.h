// TextRunner: strings in, any rows of numbers out, several outputs from one pass. Classifier and Embedder are made of
// it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <type_traits>

#include "linformer/model.h"
#include "linformer/text_input.h"
#include "linformer/version.h"

namespace LINFORMER_NAMESPACE {

// Owns its tokenizer, sessions and threads; shares the model. Not thread-safe: one call at a time. Movable.
class TextRunner {
 public:
  // `outputs` have no values: each is logits, probabilities, pooled or embeddings, and gives a row for each text (or
  // for each two texts that a head compares). Errors: those of Session and Tokenizer, and invalid_argument for outputs
  // that have a row for each token, for some that have one for a text beside others for two, and for no output at all.
  static Result<TextRunner> create(std::shared_ptr<const Model> model, std::span<const Output> outputs,
                                   const TextOptions& options = {});

  // visit(context, index, report, values) for each text, in order, on this thread: `values` are the outputs' rows one
  // after the other, each of columns() floats: the means of the text's windows, where it was read in several. They are
  // valid during the visit, and empty where the report has an error: a text that can't be read keeps its place. An
  // error returned is of the call itself. visit returns whether more are wanted. Memory is bounded whatever the number
  // of texts; progress counts texts.
  using Visit = bool (*)(void* context, size_t index, const TextReport& report, std::span<const float> values);
  Status run(const TextList& texts, Visit visit, void* context, const RunControl& control = {});
  // The same for a callable.
  template <class Callable>
  requires std::is_invocable_r_v<bool, Callable&, size_t, const TextReport&, std::span<const float>> Status
  run(const TextList& texts, Callable&& visit, const RunControl& control = {}) {
    using Called = std::remove_reference_t<Callable>;
    return run(
        texts,
        [](void* context, size_t index, const TextReport& report, std::span<const float> values) -> bool {
          return (*static_cast<Called*>(context))(index, report, values);
        },
        const_cast<void*>(static_cast<const void*>(&visit)), control);
  }

  // Floats of a text's row of output `output`, an index into create()'s list; 0: there is none.
  int64_t columns(size_t output) const;
  // As Classifier's.
  int64_t max_tokens() const;
  size_t texts_at_once() const;
  std::span<const Session> sessions() const;

  TextRunner(TextRunner&&) noexcept;
  TextRunner& operator=(TextRunner&&) noexcept;
  ~TextRunner();

 private:
  friend struct TokenScoresTaker;
  friend struct PromptedRunner;
  struct State;
  explicit TextRunner(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace LINFORMER_NAMESPACE
