#include "evaluation/evaluator.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "command_line/display.h"

namespace linformer::cli {
namespace {

std::string quoted(const std::string& label) { return "label '" + excerpt(label, 60) + "'"; }

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

std::optional<double> number_of(const std::string& text) {
  const char *begin = text.data(), *end = begin + text.size();
  // from_chars() doesn't accept a plus, so it is skipped. "+-1" must not become -1.
  if (begin != end && *begin == '+' && ++begin != end && *begin == '-') return std::nullopt;
  double number = 0;
  const auto [stop, error] = std::from_chars(begin, end, number);
  return error == std::errc() && stop == end && std::isfinite(number) ? std::optional(number) : std::nullopt;
}

}  // namespace

std::string read_true_labels(const LabelNames& labels, const Record& record, const std::string& separator,
                             std::vector<size_t>* classes) {
  classes->clear();
  std::vector<std::string> names;
  if (record.labels) {
    names = *record.labels;
  } else if (const std::string& text = *record.label; labels.find(text)) {
    names = {text};
  } else {
    names = split(text, separator);
  }
  std::vector<bool> seen(labels.size());
  for (const std::string& name : names) {
    if (name.empty() && !record.labels) return "a label is missing beside a '" + separator + "'";
    const std::optional<size_t> found = labels.find(name);
    if (!found) {
      return labels.unknown_label_message(name) +
             (record.labels ? "" : "; labels are separated by '" + separator + "' (--label-separator)");
    }
    if (seen[*found]) {
      const bool digit = name == "0" || name == "1";
      return quoted(labels.all()[*found]) + " occurs twice" +
             (digit ? "; give names or indices, not a 0 or 1 for each label" : "");
    }
    seen[*found] = true;
    classes->push_back(*found);
  }
  std::sort(classes->begin(), classes->end());
  return {};
}

std::string read_true_numbers(size_t count, const Record& record, const std::string& separator,
                              std::vector<double>* numbers) {
  numbers->clear();
  const bool list = record.labels.has_value();
  const std::vector<std::string> words = list         ? *record.labels
                                         : count == 1 ? std::vector{trimmed(*record.label)}
                                                      : split(*record.label, separator);
  for (const std::string& word : words) {
    const std::optional<double> number = number_of(word);
    if (!number) {
      return "'" + excerpt(word, 60) + "' is not a number" +
             (list || count == 1 ? "" : "; numbers are separated by '" + separator + "' (--label-separator)");
    }
    numbers->push_back(*number);
  }
  if (numbers->size() == count) return {};
  return std::to_string(numbers->size()) + " numbers, and the head gives " + std::to_string(count);
}

Evaluator::Evaluator(std::vector<std::string> outputs, EvaluatorOptions options)
    : labels_(std::move(outputs)), options_(std::move(options)) {
  switch (options_.kind) {
    case HeadKind::single_label:
      single_.emplace(labels_.all());
      break;
    case HeadKind::multi_label:
      several_.emplace(labels_.all(), options_.threshold);
      break;
    default:
      numbers_.emplace(labels_.all());
  }
}

std::string Evaluator::read_truth(const Record& record, Answer* answer) const {
  if (several_) return read_true_labels(labels_, record, options_.separator, &answer->truths.emplace());
  if (numbers_) return read_true_numbers(labels_.size(), record, options_.separator, &answer->numbers.emplace());
  answer->truth = labels_.find(*record.label);
  return answer->truth ? "" : labels_.unknown_label_message(*record.label);
}

void Evaluator::add(Answer* answer) {
  const std::vector<float>& probabilities = answer->heads[0].probabilities;
  if (single_) return single_->add(*answer->truth, best_classes(probabilities, HeadKind::single_label, {}).front());
  if (numbers_) return numbers_->add(*answer->numbers, probabilities);
  answer->predicted.clear();
  for (size_t i = 0; i < probabilities.size(); ++i) {
    if (static_cast<double>(probabilities[i]) >= options_.threshold) answer->predicted.push_back(i);
  }
  several_->add(*answer->truths, answer->predicted);
}

void Evaluator::add_error() {
  if (single_) single_->add_error();
  if (several_) several_->add_error();
  if (numbers_) numbers_->add_error();
}

std::string Evaluator::text() const {
  return single_ ? single_->text() : several_ ? several_->text() : numbers_->text();
}

nlohmann::ordered_json Evaluator::json() const {
  return single_ ? single_->json() : several_ ? several_->json() : numbers_->json();
}

}  // namespace linformer::cli
