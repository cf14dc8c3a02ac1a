// Measures how well predicted labels agree with the true ones, for heads that give one label to a text.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

namespace linformer::cli {

class Evaluation {
 public:
  explicit Evaluation(std::vector<std::string> labels);
  void add(size_t truth, size_t predicted);
  void add_error() { ++errors_; }

  // The scores of a label. The precision is NaN if the label was never predicted, and the recall if no record truly has
  // it. F1 is NaN if both are.
  struct Scores {
    double precision, recall, f1;
    uint64_t support;  // The number of records that truly have the label.
  };
  double accuracy() const;
  Scores scores(size_t label) const;
  // Returns the mean of F1 over the labels that occur as truth or prediction.
  double macro_f1() const;

  std::string text() const;
  nlohmann::ordered_json json() const;

 private:
  uint64_t count(size_t truth, size_t predicted) const;

  std::vector<std::string> labels_;
  // The counts of the pairs (truth, predicted) that occur.
  std::map<std::pair<size_t, size_t>, uint64_t> counts_;
  std::vector<uint64_t> truths_, predictions_;
  uint64_t records_ = 0, correct_ = 0, errors_ = 0;
};

// Returns part / whole, or NaN if `whole` is 0.
double ratio(uint64_t part, uint64_t whole);
nlohmann::ordered_json number_or_null(double value);
inline constexpr int label_width = 32;  // The greatest number of columns of a label in a table.

// The greatest number of classes for which the confusion matrix is written, as text and as JSON.
inline constexpr size_t max_matrix_text = 32, max_matrix_json = 256;

}  // namespace linformer::cli
