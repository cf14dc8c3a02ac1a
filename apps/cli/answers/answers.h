// What `linformer classify` says about a record, as JSON lines, tab-separated lines or a table.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "answers/output.h"
#include "linformer/types.h"
#include "models/job.h"

namespace linformer::cli {

// What one classification head says; the means over all windows of a text.
struct Scores {
  std::vector<float> logits, probabilities;  // [outputs]; probabilities by the head's kind, as linformer/session.h says
};

struct Answer : Job {
  std::optional<size_t> truth;  // the true class, when evaluating
  // The same for a head that gives several labels, in ascending order.
  std::optional<std::vector<size_t>> truths;
  std::vector<size_t> predicted;
  std::optional<std::vector<double>> numbers;  // the true ones, for a head that gives a score or values
  std::vector<Scores> heads;
};

// The names that belong to Answer::heads.
struct HeadLabels {
  std::string name;
  HeadKind kind = HeadKind::single_label;
  std::vector<std::string> labels;  // of the outputs
};

// Of a multi_label head: labels of this probability or more are the text's, where nothing else is said.
inline constexpr double several_threshold = 0.5;

// Heads that give numbers have no labels to choose from: all that they give is written.
struct AnswerOptions {
  int64_t top_k = 0;                // more than there are: all; 0: one_label, or all of a multi_label head
  int64_t one_label = 1;            // labels shown of a single_label head
  std::optional<double> threshold;  // labels below it are left out; without it 0, or several_threshold
  bool numbered = false;            // ids are the records' numbers
};

class AnswerWriter {
 public:
  virtual ~AnswerWriter() = default;
  virtual void write(const Answer& answer) = 0;
  // Whether Job::excerpt is written.
  virtual bool shows_texts() const { return false; }
  // To be called after the last answer.
  virtual void finish() {}
};

// `heads` and `output` must outlive the writer. `format` is lines, jsonl or table. `width` is the number of columns of
// the terminal; only tables use it. With several heads each
// of them has its own line, or in JSON its own object.
std::unique_ptr<AnswerWriter> make_answer_writer(OutputFormat format, const AnswerOptions& options,
                                                 const std::vector<HeadLabels>* heads, int width, OutputStream* output);

// Classes by descending probability, equal ones by index; as many as the options say.
std::vector<size_t> best_classes(const std::vector<float>& probabilities, HeadKind kind, const AnswerOptions& options);

inline bool gives_numbers(HeadKind kind) { return kind == HeadKind::score || kind == HeadKind::regression; }

}  // namespace linformer::cli
