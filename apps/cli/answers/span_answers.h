// Writers of the answers of `linformer answer`: the parts of a context that answer a question.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "answers/output.h"
#include "linformer/answerer.h"
#include "models/job.h"

namespace linformer::cli {

class SpanWriter {
 public:
  virtual ~SpanWriter() = default;
  // `answers` are in the order of their scores, the best first. If the job has an error, `answers` must be empty.
  virtual void write(const Job& job, std::span<const linformer::Answer> answers) = 0;
  // Must be called after the last question.
  virtual void finish() {}
};

// In the formats lines, csv and tsv each answer is a row. If `numbered` is true, the records have no ids of their own
// and their numbers are printed as ids. `width` is the number of columns of the terminal. `output` must outlive the
// writer.
std::unique_ptr<SpanWriter> make_span_writer(OutputFormat format, bool numbered, int width, OutputStream* output);

}  // namespace linformer::cli
