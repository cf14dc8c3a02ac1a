#include "models/masked_lm.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "command_line/errors.h"

namespace linformer::cli {

int64_t mlm_positions_at_once(int64_t vocabulary) {
  constexpr int64_t max_floats = int64_t{1} << 26;
  return std::max<int64_t>(1, max_floats / vocabulary);
}

size_t MaskedLm::next_part(std::span<const MaskPosition> positions) const {
  if (positions.size() <= at_once_) return positions.size();
  size_t count = at_once_;
  while (count > 0 && positions[count - 1].text == positions[count].text) --count;
  return count == 0 ? at_once_ : count;
}

void MaskedLm::run(Session* session, std::span<const Input> inputs, std::span<const MaskPosition> positions,
                   const std::function<void(size_t position, std::span<const float> logits)>& visit) {
  for (size_t first = 0; first < positions.size();) {
    const std::span<const MaskPosition> part = positions.subspan(first, next_part(positions.subspan(first)));
    inputs_.clear();
    positions_.clear();
    for (size_t i = 0; i < part.size(); ++i) {
      if (i == 0 || part[i].text != part[i - 1].text) inputs_.push_back(inputs[static_cast<size_t>(part[i].text)]);
      positions_.push_back({static_cast<int64_t>(inputs_.size()) - 1, part[i].position});
    }
    logits_.resize(std::max(logits_.size(), part.size() * vocabulary_));
    check(session->run(inputs_, Output::masked_lm(logits_, positions_)));
    for (size_t i = 0; i < part.size(); ++i) {
      visit(first + i, std::span(logits_).subspan(i * vocabulary_, vocabulary_));
    }
    first += part.size();
  }
}

double log_sum_exp(std::span<const float> logits) {
  float highest = -std::numeric_limits<float>::infinity();
  for (const float logit : logits) {
    if (!std::isfinite(logit)) return std::numeric_limits<double>::quiet_NaN();
    highest = std::max(highest, logit);
  }
  double sum = 0;
  for (const float logit : logits) sum += static_cast<double>(std::exp(logit - highest));
  return static_cast<double>(highest) + std::log(sum);
}

std::vector<int32_t> largest(std::span<const float> logits, size_t count) {
  std::vector<int32_t> order(logits.size());
  std::iota(order.begin(), order.end(), 0);
  count = std::min(count, order.size());
  std::partial_sort(order.begin(), order.begin() + static_cast<ptrdiff_t>(count), order.end(),
                    [&](int32_t a, int32_t b) {
                      const float x = logits[static_cast<size_t>(a)], y = logits[static_cast<size_t>(b)];
                      return x != y ? x > y : a < b;
                    });
  order.resize(count);
  return order;
}

}  // namespace linformer::cli
