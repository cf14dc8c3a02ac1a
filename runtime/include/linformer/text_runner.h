// TextRunner: takes texts, and gives several rows of numbers for each, from one pass. Classifier and Embedder use it.
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

// Runs texts. A TextRunner owns its tokenizer, sessions and threads, and shares the model. Not thread-safe: one call at
// a time. Movable.
class TextRunner {
 public:
  // The `values` of `outputs` are not used. Each output is logits, probabilities, pooled or embeddings, and gives one
  // row for each text, or one row for each two texts if a head compares two. Returns the errors of Session and
  // Tokenizer. Returns invalid_argument if there is no output, if an output has a row for each token, or if one output
  // has a row for each text and another a row for each two texts.
  static Result<TextRunner> create(std::shared_ptr<const Model> model, std::span<const Output> outputs,
                                   const TextOptions& options = {});

  // Calls visit(context, index, report, values) for each text, in order, on this thread, until visit returns false.
  // `values` has the rows of the outputs, one after the other, with columns() floats each. If the text was read in
  // several windows, these are the means over the windows. `values` is valid during the visit. A text that can't be
  // read keeps its place, has an error in its report and empty `values`. A returned error concerns the whole call.
  // Memory is bounded whatever the number of texts. control.progress gets the share of the texts that are done.
  using Visit = bool (*)(void* context, size_t index, const TextReport& report, std::span<const float> values);
  Status run(const TextList& texts, Visit visit, void* context, const RunControl& control = {});
  // As above, with any callable object as `visit`.
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

  // Returns the floats of a row of output `output`, an index into create()'s list, or 0 if there is no such output.
  int64_t columns(size_t output) const;
  // Returns the number of tokens, or vectors, that a text is cut to.
  int64_t max_tokens() const;
  // Returns how many texts the threads compute together. A call with fewer texts may leave threads idle.
  size_t texts_at_once() const;
  // Returns the session of each thread, from which a caller can read the plan and the profile.
  std::span<const Session> sessions() const;

  TextRunner(TextRunner&&) noexcept;
  TextRunner& operator=(TextRunner&&) noexcept;
  ~TextRunner();

 private:
  friend struct TokenScoresCallbacks;
  friend struct PromptedRunner;
  struct State;
  explicit TextRunner(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace LINFORMER_NAMESPACE
