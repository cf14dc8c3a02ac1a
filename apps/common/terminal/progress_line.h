// One line on a terminal's standard error, rewritten in place, that says how far a long work is.
#pragma once

#include <chrono>
#include <string>

namespace linformer::terminal {

// A length of time to read: "12 s", "7 min" or "3 h".
std::string time_text(double seconds);

class ProgressLine {
 public:
  // Silent unless standard error is a terminal and `wanted`.
  explicit ProgressLine(bool wanted);
  ~ProgressLine() { clear(); }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  // Returns whether the line is to be written again: at most ten times a second.
  bool due();
  // Since the work began, or since restart().
  double seconds() const;
  // Whether the work is old enough for a rate of it to mean something.
  bool has_rate() const;
  // Writes the line: a bar, if the share of the work that is done is known (0 to 1; negative: unknown), then `text`,
  // and the time that is left.
  void show(const std::string& text, double share);
  // Removes the line from the terminal. Call it before anything else is printed.
  void clear();
  // Another part of the work begins, which has its own rate.
  void restart() { start_ = Clock::now(); }

 private:
  using Clock = std::chrono::steady_clock;
  bool active_, shown_ = false;
  Clock::time_point start_ = Clock::now(), last_;
};

}  // namespace linformer::terminal
