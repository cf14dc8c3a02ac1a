#include "answers/answers.h"

#include <algorithm>
#include <functional>
#include <numeric>

#include "answers/columns.h"
#include "command_line/display.h"

namespace linformer::cli {
namespace {

constexpr int max_label_width = 24, tokens_width = 13, probability_width = 11, number_width = 15;

// Returns the greatest number of labels that are written for a head with `classes` classes.
size_t most_labels(size_t classes, HeadKind kind, const AnswerOptions& options) {
  const bool several = kind == HeadKind::multi_label;
  const size_t wanted = static_cast<size_t>(options.top_k > 0 ? options.top_k : options.one_label);
  return several && options.top_k == 0 ? classes : std::min(classes, wanted);
}

// Returns the indices of the outputs of a head that are written: its best labels, or all of its numbers.
std::vector<size_t> shown_outputs(const Answer& answer, const HeadLabels& labels, size_t head,
                                  const AnswerOptions& options) {
  const std::vector<float>& probabilities = answer.heads[head].probabilities;
  if (!gives_numbers(labels.kind)) return best_classes(probabilities, labels.kind, options);
  std::vector<size_t> all(probabilities.size());
  std::iota(all.begin(), all.end(), size_t{0});
  return all;
}

// Returns a probability with `places` decimals. The scale of other numbers is unknown, so they are written with as many
// digits as the float needs to be read back exactly.
std::string number_text(float value, HeadKind kind, int places) {
  return gives_numbers(kind) ? shortest_text(value) : fixed(value, places);
}

class JsonAnswers : public AnswerWriter {
 public:
  JsonAnswers(const AnswerOptions& options, const std::vector<HeadLabels>* heads, OutputStream* output)
      : options_(options), heads_(*heads), output_(output) {}

  void write(const Answer& answer) override {
    nlohmann::ordered_json line;
    line["id"] = answer.id;
    if (!answer.error.empty()) {
      line["error"] = answer.error;
    } else {
      if (heads_.size() == 1) {
        add_scores(answer, 0, &line);
      } else {
        auto& heads = line["heads"] = nlohmann::ordered_json::array();
        for (size_t h = 0; h < heads_.size(); ++h) {
          heads.push_back({{"head", heads_[h].name}});
          add_scores(answer, h, &heads.back());
        }
      }
      if (answer.truth) line["truth"] = heads_[0].labels[*answer.truth];
      if (answer.numbers) add_true_numbers(*answer.numbers, &line);
      if (answer.truths) {
        line["truth"] = names(*answer.truths);
        line["predicted"] = names(answer.predicted);
      }
      line["tokens"] = answer.tokens;
      line["truncated"] = answer.truncated();
      if (answer.truncated()) line["total_tokens"] = answer.total_tokens;
      if (answer.windows > 1) line["windows"] = answer.windows;
    }
    output_->write(json_line(answer.own, line));
  }

 private:
  nlohmann::ordered_json names(const std::vector<size_t>& classes) const {
    auto names = nlohmann::ordered_json::array();
    for (const size_t i : classes) names.push_back(heads_[0].labels[i]);
    return names;
  }

  void add_true_numbers(const std::vector<double>& numbers, nlohmann::ordered_json* line) const {
    if (heads_[0].kind == HeadKind::score) {
      (*line)["truth"] = numbers[0];
    } else {
      (*line)["truth"] = numbers;
    }
  }

  void add_scores(const Answer& answer, size_t head, nlohmann::ordered_json* object) const {
    const std::vector<std::string>& labels = heads_[head].labels;
    const std::vector<float>& probabilities = answer.heads[head].probabilities;
    if (heads_[head].kind == HeadKind::score) {
      (*object)["score"] = double_of_shortest_text(probabilities[0]);
      return;
    }
    if (heads_[head].kind == HeadKind::regression) {
      auto& values = (*object)["values"] = nlohmann::ordered_json::array();
      for (size_t i = 0; i < labels.size(); ++i) {
        values.push_back({{"label", labels[i]}, {"value", double_of_shortest_text(probabilities[i])}});
      }
      return;
    }
    const std::vector<size_t> best = best_classes(probabilities, heads_[head].kind, options_);
    (*object)["label"] = best.empty() ? nlohmann::ordered_json(nullptr) : nlohmann::ordered_json(labels[best[0]]);
    (*object)["probability"] = best.empty() ? nlohmann::ordered_json(nullptr)
                                            : nlohmann::ordered_json(double_of_shortest_text(probabilities[best[0]]));
    auto& scores = (*object)["scores"] = nlohmann::ordered_json::array();
    for (const size_t i : best) {
      scores.push_back({{"label", labels[i]}, {"probability", double_of_shortest_text(probabilities[i])}});
    }
  }

  AnswerOptions options_;
  const std::vector<HeadLabels>& heads_;
  OutputStream* output_;
};

class TsvAnswers : public AnswerWriter {
 public:
  TsvAnswers(const AnswerOptions& options, const std::vector<HeadLabels>* heads, OutputStream* output)
      : options_(options), heads_(*heads), output_(output) {}

  void write(const Answer& answer) override {
    const std::string id = excerpt(answer.id_text(), uncut);
    const bool several = heads_.size() > 1;
    if (!answer.error.empty()) {
      output_->write(id + (several ? "\t-" : "") + "\tERROR\t\t" + excerpt(answer.error, uncut) + "\n");
      return;
    }
    std::string note;
    if (answer.truncated()) {
      note = "cut to " + std::to_string(answer.tokens) + " of " + std::to_string(answer.total_tokens) + " tokens";
    } else if (answer.windows > 1) {
      note = std::to_string(answer.tokens) + " tokens in " + std::to_string(answer.windows) + " windows";
    }
    for (size_t h = 0; h < heads_.size(); ++h) {
      const std::string head = several ? "\t" + excerpt(heads_[h].name, uncut) : "";
      const auto write_line = [&](const std::string& cells) { output_->write(id + head + cells + "\t" + note + "\n"); };
      if (heads_[h].kind == HeadKind::single_label) {
        write_line(best_in_columns(answer, h));
      } else {
        write_each(answer, h, write_line);
      }
    }
  }

 private:
  std::string cells(const Answer& answer, size_t head, size_t output) const {
    std::string line = "\t";
    line += excerpt(heads_[head].labels[output], uncut);
    line += '\t';
    return line += number_text(answer.heads[head].probabilities[output], heads_[head].kind, 6);
  }

  std::string best_in_columns(const Answer& answer, size_t head) const {
    const std::vector<float>& probabilities = answer.heads[head].probabilities;
    const std::vector<size_t> best = best_classes(probabilities, heads_[head].kind, options_);
    const size_t columns = most_labels(probabilities.size(), heads_[head].kind, options_);
    std::string line;
    for (size_t i = 0; i < columns; ++i) line += i < best.size() ? cells(answer, head, best[i]) : "\t-\t-";
    return line;
  }

  // Writes each output on a line of its own, because the number of labels that are written differs from text to text.
  void write_each(const Answer& answer, size_t head, const std::function<void(const std::string&)>& write_line) const {
    const std::vector<size_t> shown = shown_outputs(answer, heads_[head], head, options_);
    for (const size_t output : shown) write_line(cells(answer, head, output));
    if (shown.empty()) write_line("\t-\t-");
  }

  AnswerOptions options_;
  const std::vector<HeadLabels>& heads_;
  OutputStream* output_;
};

class TableAnswers : public AnswerWriter {
 public:
  TableAnswers(const AnswerOptions& options, const std::vector<HeadLabels>* heads, int width, OutputStream* output)
      : options_(options),
        heads_(*heads),
        output_(output),
        width_(width),
        id_width_(id_column_width(options.numbered, width)) {
    for (const HeadLabels& head : heads_) {
      for (const std::string& label : head.labels) {
        label_width_ = std::max(label_width_, display_width(excerpt(label, max_label_width)));
      }
      head_width_ = std::max(head_width_, display_width(excerpt(head.name, max_label_width)));
      if (gives_numbers(head.kind)) value_width_ = number_width;
    }
    number_column_ = column_name();
  }

  bool shows_texts() const override { return true; }

  void write(const Answer& answer) override {
    if (!header_written_) write_row("id", "head", "label", number_column_, "tokens", "text");
    header_written_ = true;
    const std::string id = excerpt_of_end(answer.id_text(), id_width_);
    if (!answer.error.empty()) {
      write_row(id, "-", "ERROR", "", "", answer.error);
      return;
    }
    std::string tokens = std::to_string(answer.tokens);
    if (answer.truncated()) tokens += " of " + std::to_string(answer.total_tokens);
    if (answer.windows > 1) tokens += " in " + std::to_string(answer.windows);
    for (size_t h = 0; h < heads_.size(); ++h) {
      const std::vector<float>& probabilities = answer.heads[h].probabilities;
      const std::vector<size_t> best = shown_outputs(answer, heads_[h], h, options_);
      for (size_t i = 0; i < std::max<size_t>(best.size(), 1); ++i) {
        const bool first = i == 0, very_first = first && h == 0;
        write_row(very_first ? id : "", first ? heads_[h].name : "", best.empty() ? "-" : heads_[h].labels[best[i]],
                  best.empty() ? "-" : number_text(probabilities[best[i]], heads_[h].kind, 4), very_first ? tokens : "",
                  very_first ? answer.excerpt : "");
      }
    }
  }

 private:
  const char* column_name() const {
    const HeadKind first = heads_[0].kind;
    bool same = true, labels = true;
    for (const HeadLabels& head : heads_) {
      same = same && head.kind == first;
      labels = labels && !gives_numbers(head.kind);
    }
    return labels ? "probability" : same && first == HeadKind::score ? "score" : "value";
  }

  void write_row(const std::string& id, const std::string& head, const std::string& label,
                 const std::string& probability, const std::string& tokens, const std::string& text) {
    std::string line = padded(id, id_width_) + "  ";
    if (heads_.size() > 1) line += padded(excerpt(head, max_label_width), head_width_) + "  ";
    line += padded(excerpt(label, max_label_width), label_width_) + "  " + padded(probability, value_width_, true) +
            "  " + padded(tokens, tokens_width) + "  ";
    line += excerpt(text, std::max(20, width_ - display_width(line)));
    line.erase(line.find_last_not_of(' ') + 1);
    output_->write(line + "\n");
  }

  AnswerOptions options_;
  const std::vector<HeadLabels>& heads_;
  OutputStream* output_;
  int width_, id_width_;
  int label_width_ = 5;  // At least the width of the word ERROR.
  int head_width_ = 4;   // At least the width of the word "head".
  int value_width_ = probability_width;
  const char* number_column_ = nullptr;
  bool header_written_ = false;
};

}  // namespace

std::vector<size_t> best_classes(const std::vector<float>& probabilities, HeadKind kind, const AnswerOptions& options) {
  std::vector<size_t> order(probabilities.size());
  std::iota(order.begin(), order.end(), size_t{0});
  const size_t count = most_labels(probabilities.size(), kind, options);
  const double threshold = options.threshold.value_or(kind == HeadKind::multi_label ? several_threshold : 0);
  std::partial_sort(order.begin(), order.begin() + static_cast<ptrdiff_t>(count), order.end(), [&](size_t a, size_t b) {
    return probabilities[a] != probabilities[b] ? probabilities[a] > probabilities[b] : a < b;
  });
  order.resize(count);
  while (!order.empty() && static_cast<double>(probabilities[order.back()]) < threshold) order.pop_back();
  return order;
}

std::unique_ptr<AnswerWriter> make_answer_writer(OutputFormat format, const AnswerOptions& options,
                                                 const std::vector<HeadLabels>* heads, int width,
                                                 OutputStream* output) {
  if (format == OutputFormat::jsonl) return std::make_unique<JsonAnswers>(options, heads, output);
  if (format == OutputFormat::lines) return std::make_unique<TsvAnswers>(options, heads, output);
  return std::make_unique<TableAnswers>(options, heads, width, output);
}

}  // namespace linformer::cli
