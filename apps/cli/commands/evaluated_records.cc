#include "commands/evaluated_records.h"

#include "command_line/display.h"
#include "command_line/errors.h"
#include "inspect/profile.h"
#include "system/descriptors.h"
#include "system/terminal.h"

namespace linformer::cli {

EvaluatedRecords::EvaluatedRecords(const InputOptions& input, OutputFormat format, const std::string& eval,
                                   const char* hint)
    : input_(input), format_(format), eval_(eval), hint_(hint) {}

OutputStream* EvaluatedRecords::open_output(const std::string& path) {
  output_.emplace(path);
  progress_.emplace(output_->is_file() || !system::is_terminal(system::standard_output) || evaluates());
  return output_->stream();
}

int EvaluatedRecords::operator()() {
  RecordLoop loop;
  loop.visit = [this](Record& record) { add_record(record); };
  loop.on_wait = [this] { queue().flush(); };
  loop.progress = &*progress_;
  loop.run(input_, fields());
  queue().flush();
  progress_->clear();
  const bool json = format_ == OutputFormat::jsonl;
  if (!evaluates()) {
    finish_answers();
    output_->commit();
  } else if (json) {
    standard_output().write(json_text(nlohmann::ordered_json{{"evaluation", evaluation_json()}}) + "\n");
  } else {
    standard_output().write(evaluation_text());
  }
  standard_output().flush();
  tally_.print_summary(max_tokens(), json ? "" : hint_);
  report_profile(sessions(), json);
  return tally_.errors > 0 ? exit_data : exit_ok;
}

void EvaluatedRecords::init_job(Record* record, Job* job) {
  ++tally_.records;
  job->id = id_of_answer(record, tally_.records, input_);
  job->error = std::move(record->error);
  job->own = std::move(record->own);
}

bool EvaluatedRecords::count_and_check(const Job& job) {
  const bool good = job.error.empty();
  tally_.errors += good ? 0 : 1;
  tally_.cut += good && job.truncated() ? 1 : 0;
  if (!good && evaluates()) tally_.report(job.id, job.error, false, &*progress_);
  return good;
}

}  // namespace linformer::cli
