// Writers of the answers of `linformer classify` as JSON lines, tab-separated lines or a table.
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

// The outputs of one classification head. If a text was read in windows, they are the means over its windows.
struct Scores {
  // [outputs]. Output::probabilities in linformer/output.h says for each kind of head how the probabilities are
  // computed from the logits.
  std::vector<float> logits, probabilities;
};

struct Answer : Job {
  // The true class. It is set only when the command evaluates a head that gives one label.
  std::optional<size_t> truth;
  // The true and the predicted classes, in ascending order. They are set only when the command evaluates a head that
  // gives several labels.
  std::optional<std::vector<size_t>> truths;
  std::vector<size_t> predicted;
  // The true numbers. They are set only when the command evaluates a head that gives a score or values.
  std::optional<std::vector<double>> numbers;
  std::vector<Scores> heads;
};

// The name, the kind and the labels of a head of Answer::heads.
struct HeadLabels {
  std::string name;
  HeadKind kind = HeadKind::single_label;
  std::vector<std::string> labels;  // One label for each output.
};

// The default threshold of a multi_label head: a text has the labels whose probability is at least this.
inline constexpr double several_threshold = 0.5;

// Options that select the labels to write. All outputs of a head that gives numbers are written, whatever the options.
struct AnswerOptions {
  // The greatest number of labels that are written for a head. If top_k is 0, the limit is one_label for a single_label
  // head, and a multi_label head has no limit.
  int64_t top_k = 0;
  int64_t one_label = 1;
  // Labels with a lower probability are not written. If the threshold is empty, 0 is used, or several_threshold for a
  // multi_label head.
  std::optional<double> threshold;
  // True if the records have no ids of their own, so that their numbers are written as ids.
  bool numbered = false;
};

class AnswerWriter {
 public:
  virtual ~AnswerWriter() = default;
  virtual void write(const Answer& answer) = 0;
  // Returns whether write() uses Job::excerpt.
  virtual bool shows_texts() const { return false; }
  // Must be called after the last answer.
  virtual void finish() {}
};

// `heads` and `output` must outlive the writer. `format` is lines, jsonl or table. `width` is the number of columns of
// the terminal; only tables use it. If there are several heads, each of them has its own lines, or in JSON its own
// object.
std::unique_ptr<AnswerWriter> make_answer_writer(OutputFormat format, const AnswerOptions& options,
                                                 const std::vector<HeadLabels>* heads, int width, OutputStream* output);

// Returns the classes that the options select, by descending probability. Classes of equal probability are in ascending
// order of their indices.
std::vector<size_t> best_classes(const std::vector<float>& probabilities, HeadKind kind, const AnswerOptions& options);

inline bool gives_numbers(HeadKind kind) { return kind == HeadKind::score || kind == HeadKind::regression; }

}  // namespace linformer::cli
