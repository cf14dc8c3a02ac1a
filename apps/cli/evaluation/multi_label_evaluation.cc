#include "evaluation/multi_label_evaluation.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "command_line/display.h"
#include "evaluation/evaluation.h"

namespace linformer::cli {
namespace {

double or_zero(double value) { return std::isnan(value) ? 0 : value; }

void add_weighted(const MultiLabelEvaluation::Scores& scores, double weight, MultiLabelEvaluation::Scores* sum) {
  sum->precision += weight * or_zero(scores.precision);
  sum->recall += weight * or_zero(scores.recall);
  sum->f1 += weight * or_zero(scores.f1);
}

// Returns NaN scores if `divisor` is 0.
MultiLabelEvaluation::Scores divided(const MultiLabelEvaluation::Scores& sum, double divisor) {
  return {sum.precision / divisor, sum.recall / divisor, sum.f1 / divisor};
}

nlohmann::ordered_json json_of(const MultiLabelEvaluation::Scores& scores) {
  return {{"precision", number_or_null(scores.precision)},
          {"recall", number_or_null(scores.recall)},
          {"f1", number_or_null(scores.f1)}};
}

}  // namespace

MultiLabelEvaluation::MultiLabelEvaluation(std::vector<std::string> labels, double threshold)
    : labels_(std::move(labels)), threshold_(threshold), counts_(labels_.size()) {}

void MultiLabelEvaluation::add(const std::vector<size_t>& truth, const std::vector<size_t>& predicted) {
  std::vector<size_t> right;
  std::set_intersection(truth.begin(), truth.end(), predicted.begin(), predicted.end(), std::back_inserter(right));
  for (const size_t label : right) ++counts_[label].right;
  for (const size_t label : predicted) ++counts_[label].predicted;
  for (const size_t label : truth) ++counts_[label].truly;
  add_weighted(scores_of({right.size(), predicted.size(), truth.size()}), 1, &sample_sums_);
  ++records_;
  correct_ += truth == predicted ? 1 : 0;
}

MultiLabelEvaluation::Scores MultiLabelEvaluation::scores_of(const Counts& counts) {
  return {.precision = ratio(counts.right, counts.predicted),
          .recall = ratio(counts.right, counts.truly),
          .f1 = ratio(2 * counts.right, counts.predicted + counts.truly)};
}

MultiLabelEvaluation::Counts MultiLabelEvaluation::total() const {
  Counts sum;
  for (const Counts& label : counts_) {
    sum.right += label.right;
    sum.predicted += label.predicted;
    sum.truly += label.truly;
  }
  return sum;
}

MultiLabelEvaluation::Scores MultiLabelEvaluation::scores(size_t label) const { return scores_of(counts_[label]); }

MultiLabelEvaluation::Scores MultiLabelEvaluation::micro() const { return scores_of(total()); }

MultiLabelEvaluation::Scores MultiLabelEvaluation::macro() const {
  Scores sum{};
  for (const Counts& label : counts_) add_weighted(scores_of(label), 1, &sum);
  return divided(sum, records_ == 0 ? 0 : static_cast<double>(labels_.size()));
}

MultiLabelEvaluation::Scores MultiLabelEvaluation::weighted() const {
  Scores sum{};
  for (const Counts& label : counts_) add_weighted(scores_of(label), static_cast<double>(label.truly), &sum);
  return divided(sum, static_cast<double>(total().truly));
}

MultiLabelEvaluation::Scores MultiLabelEvaluation::samples() const {
  return divided(sample_sums_, static_cast<double>(records_));
}

double MultiLabelEvaluation::accuracy() const { return ratio(correct_, records_); }

double MultiLabelEvaluation::hamming_loss() const {
  const Counts sum = total();
  return ratio(sum.predicted + sum.truly - 2 * sum.right, records_ * labels_.size());
}

std::string MultiLabelEvaluation::text() const {
  std::string out = "records       " + grouped(records_) + "\n";
  if (errors_ > 0) out += "errors        " + grouped(errors_) + " (left out)\n";
  out += "threshold     " + nlohmann::json(threshold_).dump() + "\n";
  out += "accuracy      " + fixed(accuracy(), 4) + "  (" + grouped(correct_) + " with exactly the true labels)\n";
  out += "Hamming loss  " + fixed(hamming_loss(), 4) + "\n\n";

  Table table({"label", "precision", "recall", "F1", "support"}, {false, true, true, true, true});
  const auto add = [&](const std::string& name, const MultiLabelEvaluation::Scores& scores, uint64_t support) {
    table.add({name, fixed(scores.precision, 4), fixed(scores.recall, 4), fixed(scores.f1, 4), grouped(support)});
  };
  for (size_t i = 0; i < labels_.size(); ++i) add(excerpt(labels_[i], label_width), scores(i), counts_[i].truly);
  table.add({"", "", "", "", ""});
  const uint64_t support = total().truly;
  add("micro average", micro(), support);
  add("macro average", macro(), support);
  add("weighted average", weighted(), support);
  add("samples average", samples(), support);
  return out + table.text();
}

nlohmann::ordered_json MultiLabelEvaluation::json() const {
  nlohmann::ordered_json result = {{"records", records_},
                                   {"errors", errors_},
                                   {"threshold", threshold_},
                                   {"correct", correct_},
                                   {"accuracy", number_or_null(accuracy())},
                                   {"hamming_loss", number_or_null(hamming_loss())},
                                   {"micro", json_of(micro())},
                                   {"macro", json_of(macro())},
                                   {"weighted", json_of(weighted())},
                                   {"samples", json_of(samples())}};
  auto& labels = result["labels"] = nlohmann::ordered_json::array();
  for (size_t i = 0; i < labels_.size(); ++i) {
    const Counts& counts = counts_[i];
    const uint64_t false_positives = counts.predicted - counts.right, false_negatives = counts.truly - counts.right;
    nlohmann::ordered_json label = {{"label", labels_[i]}};
    label.update(json_of(scores(i)));
    label["support"] = counts.truly;
    auto& confusion = label["confusion"] = nlohmann::ordered_json::array();
    confusion.push_back(std::vector<uint64_t>{records_ - counts.predicted - false_negatives, false_positives});
    confusion.push_back(std::vector<uint64_t>{false_negatives, counts.right});
    labels.push_back(std::move(label));
  }
  return result;
}

}  // namespace linformer::cli
