#include "evaluation/evaluation.h"

#include <cmath>
#include <limits>

#include "command_line/display.h"

namespace linformer::cli {
namespace {

constexpr double undefined = std::numeric_limits<double>::quiet_NaN();

}  // namespace

double ratio(uint64_t part, uint64_t whole) {
  return whole == 0 ? undefined : static_cast<double>(part) / static_cast<double>(whole);
}

nlohmann::ordered_json number_or_null(double value) {
  return std::isnan(value) ? nlohmann::ordered_json(nullptr) : nlohmann::ordered_json(value);
}

Evaluation::Evaluation(std::vector<std::string> labels)
    : labels_(std::move(labels)), truths_(labels_.size()), predictions_(labels_.size()) {}

void Evaluation::add(size_t truth, size_t predicted) {
  ++counts_[{truth, predicted}];
  ++truths_[truth];
  ++predictions_[predicted];
  ++records_;
  correct_ += truth == predicted ? 1 : 0;
}

uint64_t Evaluation::count(size_t truth, size_t predicted) const {
  const auto found = counts_.find({truth, predicted});
  return found == counts_.end() ? 0 : found->second;
}

double Evaluation::accuracy() const { return ratio(correct_, records_); }

Evaluation::Scores Evaluation::scores(size_t label) const {
  const uint64_t hits = count(label, label);
  return {.precision = ratio(hits, predictions_[label]),
          .recall = ratio(hits, truths_[label]),
          .f1 = ratio(2 * hits, predictions_[label] + truths_[label]),
          .support = truths_[label]};
}

double Evaluation::macro_f1() const {
  double sum = 0;
  uint64_t labels = 0;
  for (size_t i = 0; i < labels_.size(); ++i) {
    const double f1 = scores(i).f1;
    if (std::isnan(f1)) continue;
    sum += f1;
    ++labels;
  }
  return labels == 0 ? undefined : sum / static_cast<double>(labels);
}

std::string Evaluation::text() const {
  std::string out = "records   " + grouped(records_) + "\n";
  if (errors_ > 0) out += "errors    " + grouped(errors_) + " (left out)\n";
  out += "accuracy  " + fixed(accuracy(), 4) + "  (" + grouped(correct_) + " right)\n";
  out += "macro F1  " + fixed(macro_f1(), 4) + "\n\n";

  Table table({"label", "precision", "recall", "F1", "records"}, {false, true, true, true, true});
  for (size_t i = 0; i < labels_.size(); ++i) {
    const Scores label = scores(i);
    table.add({excerpt(labels_[i], label_width), fixed(label.precision, 4), fixed(label.recall, 4), fixed(label.f1, 4),
               grouped(label.support)});
  }
  out += table.text();
  if (labels_.size() > max_matrix_text) {
    return out + "\nThe confusion matrix of more than " + std::to_string(max_matrix_text) + " labels is not shown.\n";
  }

  out += "\nConfusion (rows: true label, columns: predicted)\n";
  std::vector<std::string> header{"true"};
  for (const std::string& label : labels_) header.push_back(excerpt(label, label_width));
  std::vector<bool> numbers(labels_.size() + 1, true);
  numbers[0] = false;
  Table matrix(std::move(header), std::move(numbers));
  for (size_t truth = 0; truth < labels_.size(); ++truth) {
    std::vector<std::string> row{excerpt(labels_[truth], label_width)};
    for (size_t predicted = 0; predicted < labels_.size(); ++predicted) {
      row.push_back(grouped(count(truth, predicted)));
    }
    matrix.add(std::move(row));
  }
  return out + matrix.text();
}

nlohmann::ordered_json Evaluation::json() const {
  nlohmann::ordered_json result = {{"records", records_},
                                   {"errors", errors_},
                                   {"correct", correct_},
                                   {"accuracy", number_or_null(accuracy())},
                                   {"macro_f1", number_or_null(macro_f1())}};
  auto& labels = result["labels"] = nlohmann::ordered_json::array();
  for (size_t i = 0; i < labels_.size(); ++i) {
    const Scores label = scores(i);
    labels.push_back({{"label", labels_[i]},
                      {"precision", number_or_null(label.precision)},
                      {"recall", number_or_null(label.recall)},
                      {"f1", number_or_null(label.f1)},
                      {"records", label.support}});
  }
  if (labels_.size() > max_matrix_json) return result;
  auto& matrix = result["confusion"] = nlohmann::ordered_json::array();
  for (size_t truth = 0; truth < labels_.size(); ++truth) {
    auto row = nlohmann::ordered_json::array();
    for (size_t predicted = 0; predicted < labels_.size(); ++predicted) row.push_back(count(truth, predicted));
    matrix.push_back(std::move(row));
  }
  return result;
}

}  // namespace linformer::cli
