#include "answers.h"

#include <algorithm>
#include <numeric>

#include "display.h"

namespace linformer::cli {
namespace {

constexpr int max_label_width = 24, tokens_width = 13, probability_width = 11;
constexpr int cell_width = 1 << 20;  // columns: excerpts for tab-separated lines, practically uncut

std::string id_text(const nlohmann::json& id) { return id.is_string() ? id.get_ref<const std::string&>() : id.dump(); }

class JsonAnswers : public AnswerWriter {
 public:
  JsonAnswers(const AnswerOptions& options, const std::vector<std::string>* labels, Output* output)
      : options_(options), labels_(*labels), output_(output) {}

  void write(const Answer& answer) override {
    nlohmann::ordered_json line;
    line["id"] = answer.id;
    if (!answer.error.empty()) {
      line["error"] = answer.error;
    } else {
      const std::vector<size_t> best = best_classes(answer.probabilities, options_);
      line["label"] = best.empty() ? nlohmann::ordered_json(nullptr) : nlohmann::ordered_json(labels_[best[0]]);
      line["probability"] = best.empty() ? nlohmann::ordered_json(nullptr)
                                         : nlohmann::ordered_json(shortest(answer.probabilities[best[0]]));
      auto& scores = line["scores"] = nlohmann::ordered_json::array();
      for (const size_t i : best) {
        scores.push_back({{"label", labels_[i]}, {"probability", shortest(answer.probabilities[i])}});
      }
      if (answer.truth) line["truth"] = labels_[*answer.truth];
      line["tokens"] = answer.tokens;
      line["truncated"] = answer.truncated();
      if (answer.truncated()) line["total_tokens"] = answer.total_tokens;
      if (answer.windows > 1) line["windows"] = answer.windows;
    }
    output_->write(line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
  }

 private:
  AnswerOptions options_;
  const std::vector<std::string>& labels_;
  Output* output_;
};

class TsvAnswers : public AnswerWriter {
 public:
  TsvAnswers(const AnswerOptions& options, const std::vector<std::string>* labels, Output* output)
      : options_(options), labels_(*labels), output_(output) {}

  void write(const Answer& answer) override {
    std::string line = excerpt(id_text(answer.id), cell_width);
    if (!answer.error.empty()) {
      output_->write(line + "\tERROR\t\t" + excerpt(answer.error, cell_width) + "\n");
      return;
    }
    const std::vector<size_t> best = best_classes(answer.probabilities, options_);
    for (int64_t i = 0; i < options_.top_k; ++i) {
      if (i < static_cast<int64_t>(best.size())) {
        const size_t label = best[static_cast<size_t>(i)];
        line.append("\t").append(excerpt(labels_[label], cell_width));
        line.append("\t").append(fixed(answer.probabilities[label], 6));
      } else {
        line += "\t-\t-";
      }
    }
    line += "\t";
    if (answer.truncated()) {
      line += "cut to " + std::to_string(answer.tokens) + " of " + std::to_string(answer.total_tokens) + " tokens";
    } else if (answer.windows > 1) {
      line += std::to_string(answer.tokens) + " tokens in " + std::to_string(answer.windows) + " windows";
    }
    output_->write(line + "\n");
  }

 private:
  AnswerOptions options_;
  const std::vector<std::string>& labels_;
  Output* output_;
};

class TableAnswers : public AnswerWriter {
 public:
  TableAnswers(const AnswerOptions& options, const std::vector<std::string>* labels, int width, Output* output)
      : options_(options), labels_(*labels), output_(output), width_(width) {
    for (const std::string& label : labels_) {
      label_width_ = std::max(label_width_, display_width(excerpt(label, max_label_width)));
    }
  }

  void write(const Answer& answer) override {
    if (!header_written_) write_row(answer.id, "label", "probability", "tokens", "text", true);
    header_written_ = true;
    if (!answer.error.empty()) {
      write_row(answer.id, "ERROR", "", "", answer.error);
      return;
    }
    const std::vector<size_t> best = best_classes(answer.probabilities, options_);
    std::string tokens = std::to_string(answer.tokens);
    if (answer.truncated()) tokens += " of " + std::to_string(answer.total_tokens);
    if (answer.windows > 1) tokens += " in " + std::to_string(answer.windows);
    if (best.empty()) write_row(answer.id, "-", "-", tokens, answer.excerpt);
    for (size_t i = 0; i < best.size(); ++i) {
      const std::string probability = fixed(answer.probabilities[best[i]], 4);
      if (i == 0) {
        write_row(answer.id, labels_[best[0]], probability, tokens, answer.excerpt);
      } else {
        write_row(nullptr, labels_[best[i]], probability, "", "");
      }
    }
  }

 private:
  void write_row(const nlohmann::json& id, const std::string& label, const std::string& probability,
                 const std::string& tokens, const std::string& text, bool header = false) {
    const int id_width = options_.numbered ? 6 : 16;
    std::string line = padded(header         ? "id"
                              : id.is_null() ? ""
                                             : excerpt(id_text(id), id_width),
                              id_width) +
                       "  " + padded(excerpt(label, max_label_width), label_width_) + "  " +
                       padded(probability, probability_width, true) + "  " + padded(tokens, tokens_width) + "  ";
    line += excerpt(text, std::max(20, width_ - display_width(line)));
    line.erase(line.find_last_not_of(' ') + 1);
    output_->write(line + "\n");
  }

  AnswerOptions options_;
  const std::vector<std::string>& labels_;
  Output* output_;
  int width_;
  int label_width_ = 5;  // of the word ERROR
  bool header_written_ = false;
};

}  // namespace

std::vector<size_t> best_classes(const std::vector<float>& probabilities, const AnswerOptions& options) {
  std::vector<size_t> order(probabilities.size());
  std::iota(order.begin(), order.end(), size_t{0});
  const size_t count = std::min(order.size(), static_cast<size_t>(options.top_k));
  std::partial_sort(order.begin(), order.begin() + static_cast<ptrdiff_t>(count), order.end(), [&](size_t a, size_t b) {
    return probabilities[a] != probabilities[b] ? probabilities[a] > probabilities[b] : a < b;
  });
  order.resize(count);
  while (!order.empty() && static_cast<double>(probabilities[order.back()]) < options.threshold) order.pop_back();
  return order;
}

std::unique_ptr<AnswerWriter> make_answer_writer(AnswerStyle style, const AnswerOptions& options,
                                                 const std::vector<std::string>* labels, int width, Output* output) {
  if (style == AnswerStyle::json) return std::make_unique<JsonAnswers>(options, labels, output);
  if (style == AnswerStyle::tsv) return std::make_unique<TsvAnswers>(options, labels, output);
  return std::make_unique<TableAnswers>(options, labels, width, output);
}

}  // namespace linformer::cli
