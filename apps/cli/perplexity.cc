#include "perplexity.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/description.h"
#include "errors.h"

namespace linformer::cli {

double Foretold::mean_loss() const {
  return tokens == 0 ? std::numeric_limits<double>::quiet_NaN() : loss / static_cast<double>(tokens);
}

double Foretold::perplexity() const { return std::exp(mean_loss()); }

double Foretold::accuracy() const {
  return tokens == 0 ? std::numeric_limits<double>::quiet_NaN()
                     : static_cast<double>(right) / static_cast<double>(tokens);
}

Perplexity::Perplexity(std::shared_ptr<const Model> model, Session session, const MaskRule& rule, bool masked,
                       bool pseudo)
    : session_(std::move(session)),
      rule_(rule),
      wants_masked_(masked),
      wants_pseudo_(pseudo),
      scores_(model->description().encoder.vocab_size),
      batch_(session_),
      positions_at_once_(static_cast<size_t>(mlm_positions_at_once(model->description().encoder.vocab_size))) {}

void Perplexity::add(std::span<const int32_t> ids, std::span<const uint8_t> types, std::span<const uint8_t> candidates,
                     const Dump& dump) {
  std::vector<int32_t> changed(ids.begin(), ids.end());
  if (wants_masked_) {
    const std::vector<int64_t> positions = mask_tokens(rule_, texts_, candidates, changed);
    if (dump) dump(changed, positions);
    if (!positions.empty()) enqueue(changed, types, positions, ids, &masked_);
  }
  ++texts_;
  if (!wants_pseudo_) return;
  changed.assign(ids.begin(), ids.end());
  for (size_t i = 0; i < ids.size(); ++i) {
    if (candidates[i] == 0) continue;
    changed[i] = rule_.mask_id;
    const int64_t position = static_cast<int64_t>(i);
    enqueue(changed, types, {&position, 1}, ids, &pseudo_);
    changed[i] = ids[i];
  }
}

void Perplexity::enqueue(std::span<const int32_t> changed, std::span<const uint8_t> types,
                         std::span<const int64_t> positions, std::span<const int32_t> truth, Foretold* sum) {
  // A batch's logits are computed in one run where they fit.
  if (!batch_.empty() && (!batch_.fits(changed.size()) || positions_.size() + positions.size() > positions_at_once_)) {
    flush();
  }
  const int64_t text = static_cast<int64_t>(batch_.size());
  batch_.add(changed, types);
  for (const int64_t position : positions) {
    positions_.push_back({text, position + session_.output_rows(0)});
    truths_.push_back(truth[static_cast<size_t>(position)]);
    sums_.push_back(sum);
  }
}

void Perplexity::flush() {
  if (batch_.empty()) return;
  scores_.run(&session_, batch_.inputs(), positions_, [&](size_t i, std::span<const float> logits) {
    const double sum = log_sum_exp(logits);
    if (std::isnan(sum)) throw DataError("the model gave a number that is not finite; check its weights");
    const float logit = logits[static_cast<size_t>(truths_[i])];
    Foretold& foretold = *sums_[i];
    ++foretold.tokens;
    foretold.loss += sum - static_cast<double>(logit);
    foretold.right += std::max_element(logits.begin(), logits.end()) - logits.begin() == truths_[i] ? 1 : 0;
  });
  batch_.clear();
  positions_.clear();
  truths_.clear();
  sums_.clear();
}

}  // namespace linformer::cli
