// Masked-LM logits and what is read from them.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "linformer/session.h"

namespace linformer::cli {

// Positions of a vocabulary of this size whose logits are held at once: 256 MiB of them. 1,335 of RoBERTa's, 2,198 of
// BERT's: nearly all texts have fewer.
int64_t mlm_positions_at_once(int64_t vocabulary);

class MaskedLm {
 public:
  explicit MaskedLm(int64_t vocabulary) : MaskedLm(vocabulary, mlm_positions_at_once(vocabulary)) {}
  MaskedLm(int64_t vocabulary, int64_t positions_at_once)
      : vocabulary_(static_cast<size_t>(vocabulary)), at_once_(static_cast<size_t>(positions_at_once)) {}

  // Computes the logits at `positions`, which are in the order of their texts, and shows them one after the other.
  // Texts without any are not run, all others once: where there are more positions than are held at once, in several
  // smaller batches. Only a text that by itself has more is run again for each part of them.
  void run(Session* session, std::span<const Input> inputs, std::span<const MaskPosition> positions,
           const std::function<void(size_t position, std::span<const float> logits)>& visit);

 private:
  // How many of `positions` the next batch takes: those of whole texts, where a text has no more than fit.
  size_t next_part(std::span<const MaskPosition> positions) const;

  size_t vocabulary_, at_once_;
  std::vector<Input> inputs_;  // of a part
  std::vector<MaskPosition> positions_;
  std::vector<float> logits_;
};

// log(sum(exp(logits))); not finite where a logit isn't.
double log_sum_exp(std::span<const float> logits);
// Indices of the `count` largest, equal ones by index.
std::vector<int32_t> largest(std::span<const float> logits, size_t count);

}  // namespace linformer::cli
