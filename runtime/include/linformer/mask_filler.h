// MaskFiller: takes texts with mask tokens, and gives the likeliest tokens for each mask.
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

// A token that may stand in the place of a mask.
struct MaskCandidate {
  int32_t id = -1;
  float probability = 0;  // The softmax over the whole vocabulary.
};

// A mask of a text, with the tokens that the model would put in its place.
struct MaskedToken {
  size_t token = 0;    // The index into MaskFilling::ids.
  int text = 0;        // Which text of a pair the mask is in: 0 or 1.
  Offset offset = {};  // The place of the mask in that text.
  // The likeliest candidate comes first. Candidates of equal probability are ordered by id.
  std::span<const MaskCandidate> candidates = {};
};

// The filled masks of one text. It is valid during the visit.
struct MaskFilling {
  const TextReport& report;
  Tokens ids;                          // The ids that the model read. Pads are missing if they were stripped.
  std::span<const MaskedToken> masks;  // In the order of the text. Empty if the report has an error.
};

struct MaskFillerOptions {
  // on_long is truncate or error. Without match_special_tokens, the mask token is still recognised in a text, but other
  // special tokens are plain characters.
  TextOptions texts = {};
  int64_t top_k = 5;  // The number of candidates for each mask. A smaller vocabulary gives fewer.
};

// Fills masks. A MaskFiller owns its tokenizer, session and threads, and shares the model. Not thread-safe: one call at
// a time. Movable.
class MaskFiller {
 public:
  // Returns the errors of Session and Tokenizer, unsupported if the tokenizer has no mask token, and invalid_argument
  // for a model without a masked-LM head and for options out of range.
  static Result<MaskFiller> create(std::shared_ptr<const Model> model, const MaskFillerOptions& options = {});

  // Calls visit(context, index, filling) for each text, in order, on this thread, until visit returns false. A text
  // that can't be read, or that has no mask (TextReport::without_mask), keeps its place and has an error in its report.
  // A returned error concerns the whole call. Results depend neither on the other texts nor on the threads. Memory is
  // bounded whatever the number of texts. control.progress gets the share of the texts that are done.
  using Visit = bool (*)(void* context, size_t index, const MaskFilling& filling);
  Status fill(const TextList& texts, Visit visit, void* context, const RunControl& control = {});
  // As above, with any callable object as `visit`.
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

  // Returns the mask token as it is written in a text, such as "[MASK]". It is valid as long as the filler.
  std::string_view mask() const;
  // Returns the tokenizer that encodes the texts. It can decode the candidates. It lives as long as the filler.
  const Tokenizer& tokenizer() const;
  // Returns the number of tokens that a text is cut to.
  int64_t max_tokens() const;
  // Returns how many texts the threads compute together. Calls with fewer texts are slower.
  size_t texts_at_once() const;
  // Returns the one session, for example to read its plan and profile.
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
