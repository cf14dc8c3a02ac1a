// How well numbers agree with the true ones, for heads that give a score or values.
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
  // A number for each output.
  void add(const std::vector<double>& truth, const std::vector<float>& predicted);
  void add_error() { ++errors_; }

  struct Scores {  // NaN: nothing was compared; a correlation also where one side is the same number everywhere
    double mse, mae, pearson, spearman;
  };
  Scores scores(size_t output) const;
  Scores mean() const;  // over the outputs

  std::string text() const;
  nlohmann::ordered_json json() const;

 private:
  std::vector<std::string> outputs_;
  std::vector<std::vector<double>> truths_, predictions_;  // of each output: ranks need all of them
  uint64_t errors_ = 0;
};

}  // namespace linformer::cli
