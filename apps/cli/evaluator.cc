#include "evaluator.h"

#include <algorithm>

#include "display.h"

namespace linformer::cli {
namespace {

std::string quoted(const std::string& label) { return "label '" + excerpt(label, 60) + "'"; }

std::string unknown(const std::string& label) {
  return quoted(label) + " is not one of this model's; see 'linformer inspect'";
}

std::string trimmed(const std::string& text) {
  const size_t begin = text.find_first_not_of(' ');
  return begin == std::string::npos ? "" : text.substr(begin, text.find_last_not_of(' ') - begin + 1);
}

std::vector<std::string> split(const std::string& text, const std::string& separator) {
  std::vector<std::string> parts;
  if (trimmed(text).empty()) return parts;
  for (size_t begin = 0;;) {
    const size_t end = text.find(separator, begin);
    parts.push_back(trimmed(text.substr(begin, end == std::string::npos ? end : end - begin)));
    if (end == std::string::npos) return parts;
    begin = end + separator.size();
  }
}

}  // namespace

std::string read_true_labels(const std::vector<std::string>& labels, const Record& record, const std::string& separator,
                             std::vector<size_t>* classes) {
  classes->clear();
  std::vector<std::string> names;
  if (record.labels) {
    names = *record.labels;
  } else if (const std::string& text = *record.label; class_of(labels, text)) {
    names = {text};
  } else {
    names = split(text, separator);
  }
  std::vector<bool> seen(labels.size());
  for (const std::string& name : names) {
    if (name.empty() && !record.labels) return "an empty label beside a '" + separator + "'";
    const std::optional<size_t> found = class_of(labels, name);
    if (!found) {
      return unknown(name) + (record.labels ? "" : "; labels are separated by '" + separator + "' (--label-separator)");
    }
    if (seen[*found]) {
      const bool digit = name == "0" || name == "1";
      return quoted(labels[*found]) + " twice" + (digit ? "; give names or indices, not a 0 or 1 for each label" : "");
    }
    seen[*found] = true;
    classes->push_back(*found);
  }
  std::sort(classes->begin(), classes->end());
  return {};
}

Evaluator::Evaluator(std::vector<std::string> labels, EvaluatorOptions options)
    : labels_(std::move(labels)), options_(std::move(options)) {
  if (options_.multi_label) {
    several_.emplace(labels_, options_.threshold);
  } else {
    single_.emplace(labels_);
  }
}

std::string Evaluator::read_truth(const Record& record, Answer* answer) const {
  if (several_) return read_true_labels(labels_, record, options_.separator, &answer->truths.emplace());
  answer->truth = class_of(labels_, *record.label);
  return answer->truth ? "" : unknown(*record.label);
}

void Evaluator::add(Answer* answer) {
  const std::vector<float>& probabilities = answer->heads[0].probabilities;
  if (single_) return single_->add(*answer->truth, best_classes(probabilities, {}).front());
  answer->predicted.clear();
  for (size_t i = 0; i < probabilities.size(); ++i) {
    if (static_cast<double>(probabilities[i]) >= options_.threshold) answer->predicted.push_back(i);
  }
  several_->add(*answer->truths, answer->predicted);
}

void Evaluator::add_error() {
  if (single_) single_->add_error();
  if (several_) several_->add_error();
}

}  // namespace linformer::cli
