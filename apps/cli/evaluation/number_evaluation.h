// Measures how well predicted numbers agree with the true ones, for heads that give a score or values.
//
// The definitions are scikit-learn's (mean_squared_error, mean_absolute_error) and SciPy's (pearsonr, spearmanr, with
// the mean rank of equal numbers).
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace linformer::cli {

class NumberEvaluation {
 public:
  explicit NumberEvaluation(std::vector<std::string> outputs);
  // Adds a record. `truth` and `predicted` have a number for each output.
  void add(const std::vector<double>& truth, const std::vector<float>& predicted);
  void add_error() { ++errors_; }

  // All are NaN if there are no records. A correlation is also NaN if all truths or all predictions are the same
  // number.
  struct Scores {
    double mse, mae, pearson, spearman;
  };
  Scores scores(size_t output) const;
  // Returns the means of the scores over the outputs.
  Scores mean() const;

  std::string text() const;
  nlohmann::ordered_json json() const;

 private:
  std::vector<std::string> outputs_;
  // [outputs][records]. All numbers are kept, because the ranks depend on all of them.
  std::vector<std::vector<double>> truths_, predictions_;
  uint64_t errors_ = 0;
};

}  // namespace linformer::cli
