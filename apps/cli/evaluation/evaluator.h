// Compares answers with the true labels or numbers in their records, for heads of every kind.
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
  double threshold = several_threshold;  // A multi_label head predicts the labels whose probability is at least this.
  std::string separator = ",";           // Stands between labels or numbers in a string.
};

class Evaluator {
 public:
  Evaluator(std::vector<std::string> outputs, EvaluatorOptions options);
  // Stores the true label or numbers of the record in the answer. Returns an error message, or an empty string.
  std::string read_truth(const Record& record, Answer* answer) const;
  // Counts an answer. For a multi_label head, it also sets Answer::predicted.
  void add(Answer* answer);
  void add_error();
  std::string text() const;
  nlohmann::ordered_json json() const;

 private:
  LabelNames labels_;
  EvaluatorOptions options_;
  // Exactly one of these three is set, depending on the kind of the head.
  std::optional<Evaluation> single_;
  std::optional<MultiLabelEvaluation> several_;
  std::optional<NumberEvaluation> numbers_;
};

// Reads the true classes of a record, in ascending order. They are the labels in the record's array. If the record has
// a string, it is a label, or several labels with `separator` between them. Returns an error message, or an empty
// string.
std::string read_true_labels(const LabelNames& labels, const Record& record, const std::string& separator,
                             std::vector<size_t>* classes);

// Reads the `count` true numbers of a record from its array or its string. Returns an error message, or an empty
// string.
std::string read_true_numbers(size_t count, const Record& record, const std::string& separator,
                              std::vector<double>* numbers);

}  // namespace linformer::cli
