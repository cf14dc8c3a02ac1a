// MaskedLm: computes the logits of a masked-LM head at chosen positions of sequences, in bounded memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <type_traits>

#include "linformer/session.h"
#include "linformer/version.h"

namespace LINFORMER_NAMESPACE {

// Computes the logits of a masked-LM head at chosen positions, and holds the logits of only some positions at a time.
// Not thread-safe; movable.
class MaskedLm {
 public:
  // The default limit of the logits that are held, in floats: 256 MiB. This is enough for 1,335 positions with
  // RoBERTa's vocabulary and for 2,198 with BERT's. Nearly all texts have fewer positions.
  static constexpr int64_t most_logits = int64_t{1} << 26;

  // Creates a MaskedLm for `session` and for other sessions of the same model. `positions_at_once` is the number of
  // positions whose logits are held. 0: as many as most_logits has room for, but at least one. Returns invalid_argument
  // if the model has no masked-LM head or if the number is negative, and out_of_memory.
  static Result<MaskedLm> create(const Session& session, int64_t positions_at_once = 0);

  // Calls visit(context, i, logits) for each of `positions`, in order, on this thread, until visit returns false. A
  // position's `sequence` is an index into `inputs`, and positions must be ordered by it. There are vocabulary()
  // logits, which are valid during the visit. Sequences without a position are not run. If there are more positions
  // than are held at once, the sequences are run in several smaller batches, but each sequence only once. Only a
  // sequence that has more positions than are held at once is run several times. Returns the errors of Session::run(),
  // invalid_argument for positions of sequences that don't exist or that are out of order, and out_of_memory. Positions
  // that were visited before an error have valid logits.
  using Visit = bool (*)(void* context, size_t position, std::span<const float> logits);
  Status run(Session* session, std::span<const Input> inputs, std::span<const MaskPosition> positions, Visit visit,
             void* context, const RunControl& control = {});
  // As above, with any callable object as `visit`.
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

// Returns log(sum(exp(logits))). The probability of token i is exp(logits[i] - log_sum_exp(logits)). Returns NaN if a
// logit isn't finite.
double log_sum_exp(std::span<const float> logits);

}  // namespace LINFORMER_NAMESPACE
