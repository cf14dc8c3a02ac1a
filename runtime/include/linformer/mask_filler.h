// MaskFiller: strings with mask tokens in, the likeliest tokens for each mask out.
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

struct MaskCandidate {
  int32_t id = -1;
  float probability = 0;  // of all the vocabulary
};

// A mask of a text, and what the model would put there.
struct MaskedToken {
  size_t token = 0;                                // index into MaskFilling::ids
  int text = 0;                                    // of a pair the one that it is in: 0 or 1
  Offset offset = {};                              // in that text
  std::span<const MaskCandidate> candidates = {};  // best first, equal ones by id
};

// What was filled in of one text. Valid during the visit.
struct MaskFilling {
  const TextReport& report;
  Tokens ids;  // that the model read: without pads that were stripped, with those that were kept
  std::span<const MaskedToken> masks;  // in their order; empty where the report has an error
};

struct MaskFillerOptions {
  // on_long: truncate or error. Without match_special_tokens a mask is still one, and other special tokens are plain
  // characters.
  TextOptions texts = {};
  int64_t top_k = 5;  // candidates of each mask; a smaller vocabulary has fewer
};

// Owns its tokenizer, session and threads; shares the model. Not thread-safe: one call at a time. Movable.
class MaskFiller {
 public:
  // Errors: those of Session and Tokenizer, unsupported where the tokenizer has no mask token, and invalid_argument for
  // a model without a masked-LM head and for options out of range.
  static Result<MaskFiller> create(std::shared_ptr<const Model> model, const MaskFillerOptions& options = {});

  // visit(context, index, filling) for each text, in order, on this thread. A text that can't be read, or has no mask
  // (TextReport::without_mask), has an error in its report and keeps its place; an error returned is of the call
  // itself. visit returns whether more are wanted. Results don't depend on what runs beside a text, nor on threads.
  // Memory is bounded whatever the number of texts; progress counts texts.
  using Visit = bool (*)(void* context, size_t index, const MaskFilling& filling);
  Status fill(const TextList& texts, Visit visit, void* context, const RunControl& control = {});
  // The same for a callable.
  template <class Callable>
  requires std::is_invocable_r_v<bool, Callable&, size_t, const MaskFilling&> Status
  fill(const TextList& texts, Callable&& visit, const RunControl& control = {}) {
    using Called = std::remove_reference_t<Callable>;
    return fill(
        texts,
        [](void* context, size_t index, const MaskFilling& filling) -> bool {
          return (*static_cast<Called*>(context))(index, filling);
        },
        const_cast<void*>(static_cast<const void*>(&visit)), control);
  }

  // How the tokenizer writes its mask, such as "[MASK]"; lives as long as the filler.
  std::string_view mask() const;
  // That encodes the texts and names the candidates; lives as long as the filler.
  const Tokenizer& tokenizer() const;
  // Tokens that a text is cut to.
  int64_t max_tokens() const;
  // Texts that are worked on at once: calls with fewer are slower.
  size_t texts_at_once() const;
  // Its plan and profile (Session::profile).
  std::span<const Session> sessions() const;

  MaskFiller(MaskFiller&&) noexcept;
  MaskFiller& operator=(MaskFiller&&) noexcept;
  ~MaskFiller();

 private:
  struct State;
  explicit MaskFiller(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace LINFORMER_NAMESPACE
