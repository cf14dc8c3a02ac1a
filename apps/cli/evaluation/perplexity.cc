#include "evaluation/perplexity.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "command_line/errors.h"
#include "files/interrupted.h"

namespace linformer::cli {
namespace {

// Records wait to be counted until their batch has run. Records without masked tokens add nothing to a batch, so the
// number of waiting records is limited too.
constexpr size_t most_records = 1024;

}  // namespace

double PredictionSums::mean_loss() const {
  return tokens == 0 ? std::numeric_limits<double>::quiet_NaN() : loss / static_cast<double>(tokens);
}

double PredictionSums::perplexity() const { return std::exp(mean_loss()); }

double PredictionSums::accuracy() const {
  return tokens == 0 ? std::numeric_limits<double>::quiet_NaN()
                     : static_cast<double>(right) / static_cast<double>(tokens);
}

void PredictionSums::add(const PredictionSums& more) {
  tokens += more.tokens;
  right += more.right;
  loss += more.loss;
}

Perplexity::Perplexity(Session session, const MaskRule& rule, bool masked, bool pseudo)
    : session_(std::move(session)),
      rule_(rule),
      wants_masked_(masked),
      wants_pseudo_(pseudo),
      scores_(value_or_throw(MaskedLm::create(session_))),
      batch_(value_or_throw(SequenceBatch::create(session_))) {}

void Perplexity::begin_record(nlohmann::json id) {
  if (batch_.empty()) count_finished_records(0);
  if (records_.size() >= most_records) {
    flush();
    count_finished_records(0);
  }
  records_.emplace_back().id = std::move(id);
}

void Perplexity::add_text(std::span<const int32_t> ids, std::span<const uint8_t> types,
                          std::span<const uint8_t> candidates, const Dump& dump) {
  std::vector<int32_t> changed(ids.begin(), ids.end());
  if (wants_masked_) {
    const std::vector<int64_t> positions = mask_tokens(rule_, texts_, candidates, changed);
    if (dump) dump(changed, positions);
    if (!positions.empty()) enqueue(changed, types, positions, ids, true);
  }
  ++texts_;
  if (!wants_pseudo_) return;
  changed.assign(ids.begin(), ids.end());
  for (size_t i = 0; i < ids.size(); ++i) {
    if (candidates[i] == 0) continue;
    changed[i] = rule_.mask_id;
    const int64_t position = static_cast<int64_t>(i);
    enqueue(changed, types, {&position, 1}, ids, false);
    changed[i] = ids[i];
  }
}

void Perplexity::enqueue(std::span<const int32_t> masked_ids, std::span<const uint8_t> types,
                         std::span<const int64_t> positions, std::span<const int32_t> truth, bool masked) {
  // The batch is limited so that the logits of all its positions are computed in one run.
  const size_t at_once = static_cast<size_t>(scores_.positions_at_once());
  const bool fits = batch_.fits(batch_.rows_of(masked_ids.size())) && positions_.size() + positions.size() <= at_once;
  if (!batch_.empty() && !fits) {
    flush();
    count_finished_records(1);
  }
  const int64_t text = static_cast<int64_t>(batch_.size());
  check(batch_.add(masked_ids, types));
  for (const int64_t position : positions) {
    positions_.push_back({text, position + session_.output_rows(0)});
    truths_.push_back({truth[static_cast<size_t>(position)], masked, &records_.back()});
  }
}

void Perplexity::flush() {
  if (batch_.empty()) return;
  check(scores_.run(&session_, batch_.inputs(), positions_, [&](size_t i, std::span<const float> logits) {
    const Truth& truth = truths_[i];
    const double sum = log_sum_exp(logits);
    if (std::isnan(sum)) {
      truth.record->finite = false;
      return true;
    }
    PredictionSums& totals = truth.masked ? truth.record->masked : truth.record->pseudo;
    ++totals.tokens;
    totals.loss += sum - static_cast<double>(logits[static_cast<size_t>(truth.token)]);
    totals.right += std::max_element(logits.begin(), logits.end()) - logits.begin() == truth.token ? 1 : 0;
    return true;
  }));
  batch_.clear();
  positions_.clear();
  truths_.clear();
}

// Counts and removes all records but the last `unfinished`. No text of the removed records may be queued.
void Perplexity::count_finished_records(size_t unfinished) {
  while (records_.size() > unfinished) {
    const Record& record = records_.front();
    if (record.finite) {
      masked_.add(record.masked);
      pseudo_.add(record.pseudo);
    } else if (on_not_finite) {
      on_not_finite(record.id);
    }
    records_.pop_front();
    files::count_answers(1);
  }
}

void Perplexity::finish() {
  flush();
  count_finished_records(0);
}

}  // namespace linformer::cli
