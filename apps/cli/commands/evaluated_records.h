// What `tag` and `answer` have in common: records are read and answered, and their answers are written, or with --eval
// compared with what the records say is true.
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
  // Returns the exit code.
  int operator()();

 protected:
  // `eval`: the field with what is true; empty: answers are written. `hint`: what to do about texts that were cut.
  EvaluatedRecords(const InputOptions& input, OutputFormat format, const std::string& eval, const char* hint);

  virtual TextQueue& queue() = 0;
  virtual const RecordFields& fields() const = 0;
  virtual void add_record(Record& record) = 0;
  // After the last record: what else belongs to the answers.
  virtual void finish_answers() = 0;
  virtual std::string evaluation_text() const = 0;
  virtual nlohmann::ordered_json evaluation_json() const = 0;
  virtual int64_t max_tokens() const = 0;
  virtual std::span<const Session> sessions() const = 0;

  bool evaluates() const { return !eval_.empty(); }
  OutputFormat format() const { return format_; }
  // Opens what -o names; to be called when nothing else can be wrong with the command line.
  OutputStream* open_output(const std::string& path);
  // Counts a record, whose name, error and own fields become the job's.
  void start(Record* record, Job* job);
  // Counts a record's answer, before it is written. Returns whether there is one; when evaluating, an error is
  // reported.
  bool count(const Job& job);

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
