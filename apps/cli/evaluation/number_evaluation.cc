#include "evaluation/number_evaluation.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "command_line/display.h"
#include "evaluation/evaluation.h"

namespace linformer::cli {
namespace {

using Numbers = std::vector<double>;

constexpr double undefined_score = std::numeric_limits<double>::quiet_NaN();

double mean_of(const Numbers& values) {
  if (values.empty()) return undefined_score;
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double correlation(const Numbers& a, const Numbers& b) {
  const double mean_a = mean_of(a), mean_b = mean_of(b);
  double both = 0, squares_a = 0, squares_b = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    both += (a[i] - mean_a) * (b[i] - mean_b);
    squares_a += (a[i] - mean_a) * (a[i] - mean_a);
    squares_b += (b[i] - mean_b) * (b[i] - mean_b);
  }
  if (squares_a == 0 || squares_b == 0) return undefined_score;
  return std::clamp(both / (std::sqrt(squares_a) * std::sqrt(squares_b)), -1.0, 1.0);
}

// Returns the rank of each value, 1 for the smallest. Equal values share the mean of their ranks.
Numbers ranks_of(const Numbers& values) {
  std::vector<size_t> order(values.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return values[a] < values[b]; });
  Numbers ranks(values.size());
  for (size_t begin = 0, end; begin < order.size(); begin = end) {
    for (end = begin + 1; end < order.size() && values[order[end]] == values[order[begin]];) ++end;
    for (size_t i = begin; i < end; ++i) ranks[order[i]] = static_cast<double>(begin + 1 + end) / 2;
  }
  return ranks;
}

nlohmann::ordered_json json_of(const NumberEvaluation::Scores& scores) {
  return {{"mse", number_or_null(scores.mse)},
          {"mae", number_or_null(scores.mae)},
          {"pearson", number_or_null(scores.pearson)},
          {"spearman", number_or_null(scores.spearman)}};
}

}  // namespace

NumberEvaluation::NumberEvaluation(std::vector<std::string> outputs)
    : outputs_(std::move(outputs)), truths_(outputs_.size()), predictions_(outputs_.size()) {}

void NumberEvaluation::add(const std::vector<double>& truth, const std::vector<float>& predicted) {
  for (size_t i = 0; i < outputs_.size(); ++i) {
    truths_[i].push_back(truth[i]);
    predictions_[i].push_back(static_cast<double>(predicted[i]));
  }
}

NumberEvaluation::Scores NumberEvaluation::scores(size_t output) const {
  const Numbers &truth = truths_[output], &predicted = predictions_[output];
  Numbers squares, distances;
  for (size_t i = 0; i < truth.size(); ++i) {
    const double difference = predicted[i] - truth[i];
    squares.push_back(difference * difference);
    distances.push_back(std::abs(difference));
  }
  return {.mse = mean_of(squares),
          .mae = mean_of(distances),
          .pearson = correlation(truth, predicted),
          .spearman = correlation(ranks_of(truth), ranks_of(predicted))};
}

NumberEvaluation::Scores NumberEvaluation::mean() const {
  Scores sum{};
  for (size_t i = 0; i < outputs_.size(); ++i) {
    const Scores each = scores(i);
    sum.mse += each.mse;
    sum.mae += each.mae;
    sum.pearson += each.pearson;
    sum.spearman += each.spearman;
  }
  const double count = static_cast<double>(outputs_.size());
  return {sum.mse / count, sum.mae / count, sum.pearson / count, sum.spearman / count};
}

std::string NumberEvaluation::text() const {
  const Scores all = mean();
  std::string out = "records   " + grouped(truths_[0].size()) + "\n";
  if (errors_ > 0) out += "errors    " + grouped(errors_) + " (left out)\n";
  out += "MSE       " + significant(all.mse, 7) + "\n";
  out += "MAE       " + significant(all.mae, 7) + "\n";
  out += "Pearson   " + fixed(all.pearson, 4) + "\n";
  out += "Spearman  " + fixed(all.spearman, 4) + "\n";
  if (outputs_.size() == 1) return out;
  Table table({"output", "MSE", "MAE", "Pearson", "Spearman"}, {false, true, true, true, true});
  for (size_t i = 0; i < outputs_.size(); ++i) {
    const Scores each = scores(i);
    table.add({excerpt(outputs_[i], label_width), significant(each.mse, 7), significant(each.mae, 7),
               fixed(each.pearson, 4), fixed(each.spearman, 4)});
  }
  return out + "These are the means over the outputs:\n\n" + table.text();
}

nlohmann::ordered_json NumberEvaluation::json() const {
  nlohmann::ordered_json result = {{"records", truths_[0].size()}, {"errors", errors_}};
  result.update(json_of(mean()));
  if (outputs_.size() == 1) return result;
  auto& outputs = result["outputs"] = nlohmann::ordered_json::array();
  for (size_t i = 0; i < outputs_.size(); ++i) {
    outputs.push_back({{"label", outputs_[i]}});
    outputs.back().update(json_of(scores(i)));
  }
  return result;
}

}  // namespace linformer::cli
