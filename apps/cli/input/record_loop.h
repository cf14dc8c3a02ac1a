// What the commands that answer record by record have in common: reading all input, and counting what went wrong.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>

#include "answers/progress.h"
#include "input/input_notes.h"
#include "input/input_options.h"
#include "input/records.h"

namespace linformer::cli {

inline constexpr int excerpt_columns = 200;  // wider terminals show no more of a text

struct RecordLoop {
  std::function<void(Record& record)> visit;
  std::function<void()> on_wait;  // before a read that would have to wait
  Progress* progress = nullptr;
  std::function<bool()> full;  // no more records are wanted

  // Visits every record: the texts of the command line, then the files'. What was visited is written out as it comes.
  // Says on standard error what an input seems to be instead of text lines, and how much of it is invalid UTF-8.
  void run(const InputOptions& input, const RecordFields& fields);

 private:
  bool done() const { return (limit_ > 0 && visited_ >= limit_) || (full && full()); }
  void hint(const std::string& name, const std::string& sentence);
  void read(const InputOptions& input, const RecordFields& fields, const std::string& path, InvalidText* invalid);
  uint64_t limit_ = 0, visited_ = 0;
  uint64_t bytes_ = 0, bytes_before_ = 0;  // of all files, 0 where that isn't known; of those that were read
  bool hinted_ = false;
};

// What names the record in its answer: its id; its number, from 1, where no id was asked for; "record NUMBER" where the
// id could not be read.
nlohmann::json take_id(Record* record, uint64_t number, const InputOptions& input);

// The error of a record for which the model gives a number that is not finite; runtime/pipeline has the same sentence.
inline constexpr char not_finite[] = "the model gave a number that is not finite; check its weights";

// Records, and those that were bad or cut.
class Tally {
 public:
  Tally();
  uint64_t records = 0, errors = 0, cut = 0;

  // One more record has its answer, which an interruption counts once standard output is flushed.
  static void answered();
  // A line about a bad record on standard error, unless there were many; `always` and with --verbose in any case.
  void report(const nlohmann::json& id, const std::string& error, bool always, Progress* progress) const;
  // `hint`: what to do about texts that were cut to `max_tokens`; "" = they are not mentioned. With --verbose also how
  // long the records took.
  void summarize(int64_t max_tokens, const std::string& hint) const;

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

// Says so when a text of the command line is the name of a file.
void warn_of_file_names(const InputOptions& input, const std::string& what_happens);

}  // namespace linformer::cli
