// How far the records of a long run are, on a terminal's standard error.
#pragma once

#include <cstdint>

#include "terminal/progress_line.h"

namespace linformer::cli {

class Progress {
 public:
  // Silent unless standard error is a terminal and `wanted`, and with --quiet. `one` and `several` name what is
  // counted.
  explicit Progress(bool wanted, const char* one = "record", const char* several = "records");
  // Shows the rate, and the time left where it is known how much there is. `total` 0: unknown. `done` and `total` may
  // be bytes.
  void update(uint64_t records, uint64_t done, uint64_t total);
  // Removes the line from the terminal. Call it before anything else is printed.
  void clear() { line_.clear(); }

 private:
  terminal::ProgressLine line_;
  const char *one_, *several_;
};

}  // namespace linformer::cli
