// Answers beside the labels that their records say are true, for heads that give one label to a text or several.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "answers.h"
#include "evaluation.h"
#include "multi_label_evaluation.h"
#include "records.h"

namespace linformer::cli {

struct EvaluatorOptions {
  bool multi_label = false;     // of the head
  double threshold = 0.5;       // several labels: those with this probability or more are predicted
  std::string separator = ",";  // between labels in a string
};

class Evaluator {
 public:
  Evaluator(std::vector<std::string> labels, EvaluatorOptions options);
  // The true labels of the record, into the answer. Returns what is wrong with them, or nothing.
  std::string read_truth(const Record& record, Answer* answer) const;
  // Counts an answer. What it predicts is written into it where there may be several labels.
  void add(Answer* answer);
  void add_error();
  std::string text() const { return single_ ? single_->text() : several_->text(); }
  nlohmann::ordered_json json() const { return single_ ? single_->json() : several_->json(); }

 private:
  std::vector<std::string> labels_;
  EvaluatorOptions options_;
  // One of them:
  std::optional<Evaluation> single_;
  std::optional<MultiLabelEvaluation> several_;
};

// The classes, in ascending order, that the record's array names, or else its string, which is a label itself or
// several with `separator` between them. Returns what is wrong with them, or nothing.
std::string read_true_labels(const std::vector<std::string>& labels, const Record& record, const std::string& separator,
                             std::vector<size_t>* classes);

}  // namespace linformer::cli
