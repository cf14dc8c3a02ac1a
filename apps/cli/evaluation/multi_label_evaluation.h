// How well sets of predicted labels agree with the true ones, for heads that give several labels to a text.
//
// The definitions are scikit-learn's for multilabel data (classification_report, accuracy_score, hamming_loss) with
// zero_division 0: a number that is not defined counts as 0 in the means; alone it is NaN here.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace linformer::cli {

class MultiLabelEvaluation {
 public:
  // `threshold`: what the predictions come from; only printed.
  MultiLabelEvaluation(std::vector<std::string> labels, double threshold);
  // Classes in ascending order, none twice.
  void add(const std::vector<size_t>& truth, const std::vector<size_t>& predicted);
  void add_error() { ++errors_; }

  struct Scores {
    double precision, recall, f1;
  };
  Scores scores(size_t label) const;
  Scores micro() const;     // of all decisions together
  Scores macro() const;     // mean over all labels
  Scores weighted() const;  // mean over all labels, each weighted by the records that truly have it
  Scores samples() const;   // mean over the records, each with its own precision and recall
  // Share of records that got all of their true labels and no other (subset accuracy).
  double accuracy() const;
  // Share of wrong decisions, of which each record takes one for each label.
  double hamming_loss() const;

  std::string text() const;
  nlohmann::ordered_json json() const;

 private:
  struct Counts {
    uint64_t right = 0, predicted = 0, truly = 0;
  };
  static Scores scores_of(const Counts& counts);
  Counts total() const;

  std::vector<std::string> labels_;
  double threshold_;
  std::vector<Counts> counts_;  // of each label
  Scores sample_sums_{};
  uint64_t records_ = 0, correct_ = 0, errors_ = 0;
};

}  // namespace linformer::cli
