// Answers beside what their records say is true, for heads of every kind.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "answers/answers.h"
#include "evaluation/evaluation.h"
#include "evaluation/multi_label_evaluation.h"
#include "evaluation/number_evaluation.h"
#include "input/records.h"
#include "models/label_names.h"

namespace linformer::cli {

struct EvaluatorOptions {
  HeadKind kind = HeadKind::single_label;
  double threshold = several_threshold;  // multi_label: labels with this probability or more are predicted
  std::string separator = ",";           // between labels or numbers in a string
};

class Evaluator {
 public:
  Evaluator(std::vector<std::string> outputs, EvaluatorOptions options);
  // What is true of the record, into the answer. Returns what is wrong with it, or nothing.
  std::string read_truth(const Record& record, Answer* answer) const;
  // Counts an answer. What it predicts is written into it where there may be several labels.
  void add(Answer* answer);
  void add_error();
  std::string text() const;
  nlohmann::ordered_json json() const;

 private:
  LabelNames labels_;
  EvaluatorOptions options_;
  // One of them:
  std::optional<Evaluation> single_;
  std::optional<MultiLabelEvaluation> several_;
  std::optional<NumberEvaluation> numbers_;
};

// The classes, in ascending order, that the record's array names, or else its string, which is a label itself or
// several with `separator` between them. Returns what is wrong with them, or nothing.
std::string read_true_labels(const LabelNames& labels, const Record& record, const std::string& separator,
                             std::vector<size_t>* classes);

// The `count` numbers of the record's array, or else of its string. Returns what is wrong with them, or nothing.
std::string read_true_numbers(size_t count, const Record& record, const std::string& separator,
                              std::vector<double>* numbers);

}  // namespace linformer::cli
