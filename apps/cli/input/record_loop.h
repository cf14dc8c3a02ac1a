// The parts that are common to commands that answer record by record: reading all inputs, and counting bad records.
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

inline constexpr int excerpt_columns = 200;  // Job::excerpt has at most this many columns, also on a wider terminal.

struct RecordLoop {
  std::function<void(Record& record)> visit;
  std::function<void()> on_wait;  // Called before a read that would have to wait, and after a read that failed.
  Progress* progress = nullptr;
  std::function<bool()> full;  // Returns true if no more records are wanted.

  // Visits the texts of the command line and then the records of the files, until --limit is reached or full() returns
  // true. Standard output is flushed after each record. Prints a note on standard error if an input seems to have
  // another format than text lines, or has invalid UTF-8.
  void run(const InputOptions& input, const RecordFields& fields);

 private:
  bool done() const { return (limit_ > 0 && visited_ >= limit_) || (full && full()); }
  void print_hint(const std::string& name, const std::string& sentence);
  void read_records(const InputOptions& input, const RecordFields& fields, const std::string& path,
                    InvalidText* invalid);
  uint64_t limit_ = 0, visited_ = 0;
  // The bytes of all files, or 0 if that is unknown, and the bytes of the files before the current file.
  uint64_t bytes_ = 0, bytes_before_ = 0;
  bool hinted_ = false;
};

// Returns the id of the record's answer. It is the record's own id, or its number, from 1, if no id field was chosen,
// or "record NUMBER" if the id could not be read.
nlohmann::json id_of_answer(Record* record, uint64_t number, const InputOptions& input);

// The error message for a record whose result has a number that is not finite. runtime/pipeline has the same message.
inline constexpr char not_finite[] = "the model gave a number that is not finite; check its weights";

// Counts the records, the bad records and the texts that were cut.
class Tally {
 public:
  Tally();
  uint64_t records = 0, errors = 0, cut = 0;

  // Counts one more record that has its answer. The message of an interrupted program counts only the answers that have
  // been flushed to standard output.
  static void count_answered();
  // Prints a line about a bad record on standard error. After 20 bad records, it prints only if `always` is true or
  // with --verbose.
  void report(const nlohmann::json& id, const std::string& error, bool always, Progress* progress) const;
  // Prints how many records were bad, and how many texts were cut to `max_tokens`. After the number of cut texts it
  // prints `hint`, which says what the user can do about them. If `hint` is empty, cut texts are not mentioned. With
  // --verbose, also prints the time.
  void print_summary(int64_t max_tokens, const std::string& hint) const;

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

// Throws UsageError for a text of the command line that is the name of a model file. Prints a note for a text that is
// the name of a file of another kind. `what_happens` is the participle in the note, such as "read".
void warn_if_text_names_file(const InputOptions& input, const std::string& what_happens);

}  // namespace linformer::cli
