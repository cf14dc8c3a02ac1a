// Shows the progress of long work on one line of standard error, which is rewritten in place.
#pragma once

#include <chrono>
#include <string>

namespace linformer::terminal {

// Returns a duration for people to read: "12 s", "7 min" or "3 h".
std::string time_text(double seconds);

class ProgressLine {
 public:
  // The line is shown only if `wanted` is true and standard error is a terminal. Otherwise the calls do nothing.
  explicit ProgressLine(bool wanted);
  ~ProgressLine() { clear(); }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  // Returns whether the caller should call show() again. Returns true at most ten times a second.
  bool due();
  // Returns the time since construction, or since the last restart().
  double seconds() const;
  // Returns whether enough time has passed for a meaningful rate.
  bool has_rate() const;
  // Writes the line: a bar, `text` and the remaining time. `share` is the part of the work that is done, 0 to 1. If it
  // is negative, it is unknown, and the bar and the remaining time are omitted.
  void show(const std::string& text, double share);
  // Removes the line from the terminal. Call it before anything else is printed.
  void clear();
  // Starts measuring the time again, for a part of the work that has a different rate.
  void restart() { start_ = Clock::now(); }

 private:
  using Clock = std::chrono::steady_clock;
  bool active_, shown_ = false;
  Clock::time_point start_ = Clock::now(), last_;
};

}  // namespace linformer::terminal
