// SparseEmbedder: takes texts, and gives weights of some tokens of the vocabulary, by a masked-LM head (SPLADE).
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

struct TokenWeight {
  int32_t id = -1;
  float weight = 0;  // Greater than 0.
};

struct SparseEmbedderOptions {
  TextOptions texts = {};  // on_long is truncate or error.
};

// Makes sparse vectors. The weight of a token of the vocabulary is log(1 + m), where m is the largest of its logits at
// all tokens of the text, special tokens included. A token whose m isn't greater than 0 has no weight. This is
// sentence-transformers' SpladePooling with max pooling. Pads are ignored.
//
// A SparseEmbedder owns its tokenizer, session and threads, and shares the model. Not thread-safe: one call at a time.
// Movable.
class SparseEmbedder {
 public:
  // Returns the errors of Session and Tokenizer, and invalid_argument for a model without a masked-LM head and for
  // options out of range.
  static Result<SparseEmbedder> create(std::shared_ptr<const Model> model, const SparseEmbedderOptions& options = {});

  // Calls visit(context, index, report, tokens) for each text, in order, on this thread, until visit returns false.
  // `tokens` is ordered by weight, the largest first, and tokens of equal weight by id. It is valid during the visit. A
  // text that can't be read keeps its place and has an error in its report. A returned error concerns the whole call.
  // Results depend neither on the other texts nor on the threads. Memory is bounded whatever the number of texts, and
  // the logits of all tokens of a text are never held at once. control.progress gets the share of the texts that are
  // done.
  using Visit = bool (*)(void* context, size_t index, const TextReport& report, std::span<const TokenWeight> tokens);
  Status embed(const TextList& texts, Visit visit, void* context, const RunControl& control = {});
  // As above, with any callable object as `visit`.
  template <class Callable>
  requires std::is_invocable_r_v<bool, Callable&, size_t, const TextReport&, std::span<const TokenWeight>> Status
  embed(const TextList& texts, Callable&& visit, const RunControl& control = {}) {
    using Called = std::remove_reference_t<Callable>;
    return embed(
        texts,
        [](void* context, size_t index, const TextReport& report, std::span<const TokenWeight> tokens) -> bool {
          return (*static_cast<Called*>(context))(index, report, tokens);
        },
        const_cast<void*>(static_cast<const void*>(&visit)), control);
  }

  // Returns the tokenizer that encodes the texts. It can decode the tokens' ids. It lives as long as the embedder.
  const Tokenizer& tokenizer() const;
  // Returns the number of tokens that may have a weight.
  int64_t vocabulary() const;
  // Returns the number of tokens that a text is cut to.
  int64_t max_tokens() const;
  // Returns how many texts the threads compute together. Calls with fewer texts are slower.
  size_t texts_at_once() const;
  // Returns the one session, for example to read its plan and profile.
  std::span<const Session> sessions() const;

  SparseEmbedder(SparseEmbedder&&) noexcept;
  SparseEmbedder& operator=(SparseEmbedder&&) noexcept;
  ~SparseEmbedder();

 private:
  struct State;
  explicit SparseEmbedder(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace LINFORMER_NAMESPACE
