// Shows on standard error, if it is a terminal, how many records of a long run are done.
#pragma once

#include <cstdint>

#include "terminal/progress_line.h"

namespace linformer::cli {

class Progress {
 public:
  // Nothing is shown if `wanted` is false, if standard error is not a terminal, or with --quiet. `singular` and
  // `plural` are the singular and the plural of the thing that is counted.
  explicit Progress(bool wanted, const char* singular = "record", const char* plural = "records");
  // Shows the number of records and their rate, and if `total` is known (not 0) also the time that is left. `done` is
  // the part of `total` that is finished. Both have the same unit, such as bytes of the input.
  void update(uint64_t records, uint64_t done, uint64_t total);
  // Removes the line from the terminal. Call it before anything else is printed.
  void clear() { line_.clear(); }

 private:
  terminal::ProgressLine line_;
  const char *one_, *several_;
};

}  // namespace linformer::cli
