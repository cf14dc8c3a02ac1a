// SparseEmbedder: strings in, a weight for some tokens of the vocabulary out, by a masked-LM head (SPLADE).
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
  float weight = 0;  // more than 0
};

struct SparseEmbedderOptions {
  TextOptions texts = {};  // on_long: truncate or error
};

// The weight of a token is log(1 + logit) of the largest logit that the head gives it at any of the text's tokens,
// special ones included; where that is not more than 0 the token has no weight. As sentence-transformers' SpladePooling
// has it with the pooling max. Pads count for nothing.
//
// Owns its tokenizer, session and threads; shares the model. Not thread-safe: one call at a time. Movable.
class SparseEmbedder {
 public:
  // Errors: those of Session and Tokenizer, and invalid_argument for a model without a masked-LM head and for options
  // out of range.
  static Result<SparseEmbedder> create(std::shared_ptr<const Model> model, const SparseEmbedderOptions& options = {});

  // visit(context, index, report, tokens) for each text, in order, on this thread: its tokens by weight, the largest
  // first, equal ones by id, valid during the visit. A text that can't be read has an error in its report and keeps its
  // place; an error returned is of the call itself. visit returns whether more are wanted. Results don't depend on what
  // runs beside a text, nor on threads. Memory is bounded whatever the number of texts: the logits of all of a text's
  // tokens are never there at once. progress counts texts.
  using Visit = bool (*)(void* context, size_t index, const TextReport& report, std::span<const TokenWeight> tokens);
  Status embed(const TextList& texts, Visit visit, void* context, const RunControl& control = {});
  // The same for a callable.
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

  // That encodes the texts and names the tokens; lives as long as the embedder.
  const Tokenizer& tokenizer() const;
  // Tokens that there are weights for.
  int64_t vocabulary() const;
  // Tokens that a text is cut to.
  int64_t max_tokens() const;
  // Texts that are worked on at once: calls with fewer are slower.
  size_t texts_at_once() const;
  // Its plan and profile (Session::profile).
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
