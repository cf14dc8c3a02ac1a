// Measures how well sets of predicted labels agree with the true ones, for heads that give several labels to a text.
//
// The definitions are scikit-learn's for multilabel data (classification_report, accuracy_score, hamming_loss) with
// zero_division 0: a score that is not defined counts as 0 in the means. The score itself is NaN here.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace linformer::cli {

class MultiLabelEvaluation {
 public:
  // `threshold` is the least probability of a predicted label. It is only printed.
  MultiLabelEvaluation(std::vector<std::string> labels, double threshold);
  // `truth` and `predicted` are the indices of classes, in ascending order and without duplicates.
  void add(const std::vector<size_t>& truth, const std::vector<size_t>& predicted);
  void add_error() { ++errors_; }

  struct Scores {
    double precision, recall, f1;
  };
  Scores scores(size_t label) const;
  Scores micro() const;     // The scores of all decisions together.
  Scores macro() const;     // The mean over all labels.
  Scores weighted() const;  // The mean over all labels, each weighted by the number of records that truly have it.
  Scores samples() const;   // The mean over the records of the scores of each record.
  // Returns the share of records that got exactly their true labels (subset accuracy).
  double accuracy() const;
  // Returns the share of wrong decisions. Each record has one decision for each label.
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
  std::vector<Counts> counts_;  // One for each label.
  Scores sample_sums_{};
  uint64_t records_ = 0, correct_ = 0, errors_ = 0;
};

}  // namespace linformer::cli
