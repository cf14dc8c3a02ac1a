// Notes on standard error about inputs that were probably not read as the user meant. An input gets at most one note of
// each kind.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "answers/progress.h"
#include "input/records.h"

namespace linformer::cli {

// Recognises by its first two lines an input that is read as text lines but seems to have another format.
class FormatHint {
 public:
  // `field` is the value of --field.
  explicit FormatHint(std::string field) : field_(std::move(field)) {}
  // Takes the next line. Returns a sentence that says how to read the input in the other format, at most once for an
  // input; otherwise an empty string.
  std::string check_next_line(std::string_view line);

 private:
  std::string field_, header_;
  uint64_t lines_ = 0;
};

// Counts records with invalid UTF-8. The destructor prints a note if there were any, also if reading ended with an
// exception.
class InvalidText {
 public:
  InvalidText(std::string name, Progress* progress) : name_(std::move(name)), progress_(progress) {}
  ~InvalidText() { report(); }
  InvalidText(const InvalidText&) = delete;
  InvalidText& operator=(const InvalidText&) = delete;

  void count_record(const Record& record);

 private:
  void report();

  std::string name_;
  Progress* progress_;
  uint64_t records_ = 0, invalid_ = 0;
  std::vector<uint64_t> lines_;  // The lines of the first records with invalid UTF-8.
};

}  // namespace linformer::cli
