// What `linformer classify` says about a record, as JSON lines, tab-separated lines or a table.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "output.h"
#include "pipeline.h"

namespace linformer::cli {

// What one classification head says; the means over all windows of a text.
struct Scores {
  std::vector<float> logits, probabilities;  // [classes]
};

struct Answer : Job {
  std::optional<size_t> truth;  // the true class, when evaluating
  // The same for a head that gives several labels, in ascending order.
  std::optional<std::vector<size_t>> truths;
  std::vector<size_t> predicted;
  std::vector<Scores> heads;
};

// The names that belong to Answer::heads.
struct HeadLabels {
  std::string name;
  std::vector<std::string> labels;
};

struct AnswerOptions {
  int64_t top_k = 1;      // more than there are: all
  double threshold = 0;   // scores below it are left out
  bool numbered = false;  // ids are the records' numbers
};

class AnswerWriter {
 public:
  virtual ~AnswerWriter() = default;
  virtual void write(const Answer& answer) = 0;
};

enum class AnswerStyle { json, tsv, table };

// `heads` and `output` must outlive the writer. `width`: columns of the terminal, for tables. With several heads each
// of them has its own line, or in JSON its own object.
std::unique_ptr<AnswerWriter> make_answer_writer(AnswerStyle style, const AnswerOptions& options,
                                                 const std::vector<HeadLabels>* heads, int width, Output* output);

// Classes by descending probability, equal ones by index; at most top_k, none below the threshold.
std::vector<size_t> best_classes(const std::vector<float>& probabilities, const AnswerOptions& options);

}  // namespace linformer::cli
