// What `linformer classify` says about a record, as JSON lines, tab-separated lines or a table.
#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "output.h"

namespace linformer::cli {

struct Answer {
  nlohmann::json id;                         // the record's own id, or its number
  std::string excerpt;                       // of the text, safe to print
  std::string error;                         // not empty: there is no answer, and why
  std::optional<size_t> truth;               // the true class, when evaluating
  int64_t tokens = 0;                        // that the model read
  int64_t total_tokens = 0;                  // that the text has; more than `tokens` when it was cut
  int64_t windows = 1;                       // that the text was read in; probabilities and logits are their means
  std::vector<float> logits, probabilities;  // [classes]

  bool truncated() const { return tokens < total_tokens; }
};

struct AnswerOptions {
  int64_t top_k = 1;
  double threshold = 0;   // scores below it are left out
  bool numbered = false;  // ids are the records' numbers
};

class AnswerWriter {
 public:
  virtual ~AnswerWriter() = default;
  virtual void write(const Answer& answer) = 0;
};

enum class AnswerStyle { json, tsv, table };

// `labels` and `output` must outlive the writer. `width`: columns of the terminal, for tables.
std::unique_ptr<AnswerWriter> make_answer_writer(AnswerStyle style, const AnswerOptions& options,
                                                 const std::vector<std::string>* labels, int width, Output* output);

// Classes by descending probability, equal ones by index; at most top_k, none below the threshold.
std::vector<size_t> best_classes(const std::vector<float>& probabilities, const AnswerOptions& options);

}  // namespace linformer::cli
