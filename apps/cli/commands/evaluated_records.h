// The common base of `tag` and `answer`. It reads records and answers them. The answers are written, or with --eval
// compared with the true answers in the records.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>

#include "answers/output.h"
#include "answers/progress.h"
#include "input/input_options.h"
#include "input/record_loop.h"
#include "linformer/session.h"
#include "models/job.h"
#include "models/text_queue.h"

namespace linformer::cli {

class EvaluatedRecords {
 public:
  EvaluatedRecords(const EvaluatedRecords&) = delete;
  EvaluatedRecords& operator=(const EvaluatedRecords&) = delete;
  virtual ~EvaluatedRecords() = default;
  // Runs the command and returns the exit code.
  int operator()();

 protected:
  // `eval` is the name of the field with the true answers, or empty if answers are written. `hint` says what the user
  // can do about texts that were cut.
  EvaluatedRecords(const InputOptions& input, OutputFormat format, const std::string& eval, const char* hint);

  virtual TextQueue& queue() = 0;
  virtual const RecordFields& fields() const = 0;
  virtual void add_record(Record& record) = 0;
  // Called after the last record, to finish the writer of the answers.
  virtual void finish_answers() = 0;
  virtual std::string evaluation_text() const = 0;
  virtual nlohmann::ordered_json evaluation_json() const = 0;
  virtual int64_t max_tokens() const = 0;
  virtual std::span<const Session> sessions() const = 0;

  bool evaluates() const { return !eval_.empty(); }
  OutputFormat format() const { return format_; }
  // Opens the output of -o. Must be called after all checks of the command line.
  OutputStream* open_output(const std::string& path);
  // Counts a record. Moves its id, its error message and the fields that --keep names to `job`.
  void init_job(Record* record, Job* job);
  // Must be called before the answer to a record is written. Counts jobs with an error, and jobs whose text was cut. If
  // the command evaluates, it also reports the error. Returns whether the job has no error.
  bool count_and_check(const Job& job);

 private:
  const InputOptions& input_;
  OutputFormat format_;
  const std::string& eval_;
  const char* hint_;
  std::optional<AnswerOutput> output_;
  std::optional<Progress> progress_;
  Tally tally_;
};

}  // namespace linformer::cli
