#include "answers/column_answers.h"

#include <algorithm>

#include "answers/columns.h"
#include "command_line/display.h"

namespace linformer::cli {
namespace {

using Cells = std::vector<std::string>;

// Returns for how many labels a row has columns. `head` is a single_label head.
size_t label_columns(const HeadLabels& head, const AnswerOptions& options) {
  const int64_t wanted = options.top_k > 0 ? options.top_k : options.one_label;
  return std::min(head.labels.size(), static_cast<size_t>(wanted));
}

Cells columns_of(bool truths, const AnswerOptions& options, const std::vector<HeadLabels>& heads) {
  Cells columns = {"id"};
  for (const HeadLabels& head : heads) {
    const std::string prefix = heads.size() > 1 ? head.name + "." : "";
    switch (head.kind) {
      case HeadKind::single_label:
        for (size_t i = 0; i < label_columns(head, options); ++i) {
          const std::string rank = i == 0 ? "" : "_" + std::to_string(i + 1);
          columns.insert(columns.end(), {prefix + "label" + rank, prefix + "probability" + rank});
        }
        break;
      case HeadKind::multi_label:
        columns.insert(columns.end(), {prefix + "labels", prefix + "probabilities"});
        break;
      case HeadKind::score:
        columns.push_back(prefix + "score");
        break;
      default:
        for (const std::string& label : head.labels) columns.push_back(prefix + "value_" + label);
    }
  }
  if (truths) columns.emplace_back("truth");
  columns.insert(columns.end(), {"tokens", "total_tokens", "error"});
  return columns;
}

// Joins several labels or numbers with commas, which is how --eval reads them.
std::string joined(const Cells& parts) {
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : ",") + part;
  return text;
}

class ColumnAnswers : public AnswerWriter {
 public:
  ColumnAnswers(bool csv, bool truths, const AnswerOptions& options, const std::vector<HeadLabels>* heads,
                OutputStream* output)
      : truths_(truths),
        options_(options),
        heads_(*heads),
        columns_(columns_of(truths, options, *heads)),
        writer_(csv, columns_, output) {}

  void write(const Answer& answer) override {
    Cells cells = {answer.id_text()};
    if (answer.error.empty()) {
      for (size_t h = 0; h < heads_.size(); ++h) add_head(answer.heads[h].probabilities, heads_[h], &cells);
      if (truths_) cells.push_back(truth_of(answer));
      cells.insert(cells.end(), {std::to_string(answer.tokens), std::to_string(answer.total_tokens)});
    }
    cells.resize(columns_.size());
    cells.back() = answer.error;
    writer_.write(answer.own, cells);
  }

  void finish() override { writer_.finish(); }

 private:
  void add_head(const std::vector<float>& probabilities, const HeadLabels& head, Cells* cells) const {
    if (gives_numbers(head.kind)) {
      for (const float value : probabilities) cells->push_back(shortest_text(value));
      return;
    }
    const std::vector<size_t> best = best_classes(probabilities, head.kind, options_);
    if (head.kind == HeadKind::multi_label) {
      Cells labels, values;
      for (const size_t i : best) {
        labels.push_back(head.labels[i]);
        values.push_back(fixed(probabilities[i], 6));
      }
      cells->insert(cells->end(), {joined(labels), joined(values)});
      return;
    }
    for (size_t i = 0; i < label_columns(head, options_); ++i) {
      cells->push_back(i < best.size() ? head.labels[best[i]] : "");
      cells->push_back(i < best.size() ? fixed(probabilities[best[i]], 6) : "");
    }
  }

  std::string truth_of(const Answer& answer) const {
    Cells parts;
    if (answer.truth) parts.push_back(heads_[0].labels[*answer.truth]);
    if (answer.truths) {
      for (const size_t i : *answer.truths) parts.push_back(heads_[0].labels[i]);
    }
    if (answer.numbers) {
      for (const double number : *answer.numbers) parts.push_back(nlohmann::json(number).dump());
    }
    return joined(parts);
  }

  bool truths_;
  AnswerOptions options_;
  const std::vector<HeadLabels>& heads_;
  Cells columns_;
  ColumnWriter writer_;
};

}  // namespace

std::unique_ptr<AnswerWriter> make_column_answers(bool csv, bool truths, const AnswerOptions& options,
                                                  const std::vector<HeadLabels>* heads, OutputStream* output) {
  return std::make_unique<ColumnAnswers>(csv, truths, options, heads, output);
}

}  // namespace linformer::cli
