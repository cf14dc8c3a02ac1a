// What is worth saying about an input that was read all the same: a line on standard error, never more than one of a
// kind for an input.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "answers/progress.h"
#include "input/records.h"

namespace linformer::cli {

// What text lines seem to be instead, by the first two of them.
class FormatHint {
 public:
  // `field`: the name that --field has.
  explicit FormatHint(std::string field) : field_(std::move(field)) {}
  // The next line. Returns how to read the input otherwise, once, or nothing.
  std::string see(std::string_view line);

 private:
  std::string field_, header_;
  uint64_t lines_ = 0;
};

// Counts records with invalid UTF-8, and says so when the input ends, however it ends.
class InvalidText {
 public:
  InvalidText(std::string name, Progress* progress) : name_(std::move(name)), progress_(progress) {}
  ~InvalidText() { report(); }
  InvalidText(const InvalidText&) = delete;
  InvalidText& operator=(const InvalidText&) = delete;

  void see(const Record& record);

 private:
  void report();

  std::string name_;
  Progress* progress_;
  uint64_t records_ = 0, invalid_ = 0;
  std::vector<uint64_t> lines_;  // the first of them
};

}  // namespace linformer::cli
