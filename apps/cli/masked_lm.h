// Masked-LM logits and what is read from them.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "linformer/session.h"

namespace linformer::cli {

// Positions of a vocabulary of this size whose logits are held at once: 256 MiB of them.
int64_t mlm_positions_at_once(int64_t vocabulary);

class MaskedLm {
 public:
  explicit MaskedLm(int64_t vocabulary) : vocabulary_(static_cast<size_t>(vocabulary)) {}

  // Computes the logits at `positions` and shows them one after the other. Where there are more positions than are held
  // at once, the batch is run again for each part.
  void run(Session* session, std::span<const Input> inputs, std::span<const MaskPosition> positions,
           const std::function<void(size_t position, std::span<const float> logits)>& visit);

 private:
  size_t vocabulary_;
  std::vector<float> logits_;
};

// log(sum(exp(logits))); not finite where a logit isn't.
double log_sum_exp(std::span<const float> logits);
// Indices of the `count` largest, equal ones by index.
std::vector<int32_t> largest(std::span<const float> logits, size_t count);

}  // namespace linformer::cli
