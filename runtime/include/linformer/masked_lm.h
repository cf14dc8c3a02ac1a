// MaskedLm: the logits of a masked-LM head at chosen positions of sequences, in bounded memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <type_traits>

#include "linformer/session.h"
#include "linformer/version.h"

namespace LINFORMER_NAMESPACE {

// Holds the logits of some positions at a time. Not thread-safe; movable.
class MaskedLm {
 public:
  // Floats that are held without another wish: 256 MiB, which are 1,335 positions of RoBERTa's vocabulary and 2,198 of
  // BERT's. Nearly all texts have fewer.
  static constexpr int64_t most_logits = int64_t{1} << 26;

  // For `session` and others of its model. `positions_at_once`: whose logits are held; 0: as many as most_logits has
  // room for, and at least one. Errors: invalid_argument where the model has no masked-LM head or the number is
  // negative; out_of_memory.
  static Result<MaskedLm> create(const Session& session, int64_t positions_at_once = 0);

  // visit(context, i, logits) for each of `positions`, in order, on this thread; it returns whether more are wanted.
  // `positions` are in the order of their texts, which are indices into `inputs`; the logits, vocabulary() of them, are
  // valid during the visit. Texts without a position are not run, all others once: where there are more positions than
  // are held at once, in several smaller batches. Only a text that by itself has more is run again for each part of
  // them. Errors: those of Session::run(), and invalid_argument for positions of texts that aren't there or out of
  // order. Positions that were visited before an error are right.
  using Visit = bool (*)(void* context, size_t position, std::span<const float> logits);
  Status run(Session* session, std::span<const Input> inputs, std::span<const MaskPosition> positions, Visit visit,
             void* context, const RunControl& control = {});
  // The same for a callable.
  template <class Callable>
  requires std::is_invocable_r_v<bool, Callable&, size_t, std::span<const float>> Status
  run(Session* session, std::span<const Input> inputs, std::span<const MaskPosition> positions, Callable&& visit,
      const RunControl& control = {}) {
    using Called = std::remove_reference_t<Callable>;
    return run(
        session, inputs, positions,
        [](void* context, size_t position, std::span<const float> logits) -> bool {
          return (*static_cast<Called*>(context))(position, logits);
        },
        const_cast<void*>(static_cast<const void*>(&visit)), control);
  }

  int64_t vocabulary() const;
  int64_t positions_at_once() const;

  MaskedLm(MaskedLm&&) noexcept;
  MaskedLm& operator=(MaskedLm&&) noexcept;
  ~MaskedLm();

 private:
  struct State;
  explicit MaskedLm(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// log(sum(exp(logits))): the probability of token i is exp(logits[i] - it). NaN where a logit isn't finite.
double log_sum_exp(std::span<const float> logits);

}  // namespace LINFORMER_NAMESPACE
