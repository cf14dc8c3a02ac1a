// One line on a terminal's standard error that says how far a long run is.
#pragma once

#include <chrono>
#include <cstdint>

namespace linformer::cli {

class Progress {
 public:
  // Silent unless standard error is a terminal and `wanted`, and with --quiet.
  explicit Progress(bool wanted);
  ~Progress() { clear(); }
  // Shown at most ten times a second. `bytes_total` 0: unknown.
  void update(uint64_t records, uint64_t bytes, uint64_t bytes_total);
  // Removes the line, before something else is printed.
  void clear();

 private:
  using Clock = std::chrono::steady_clock;
  bool active_;
  bool shown_ = false;
  Clock::time_point start_ = Clock::now(), last_;
};

}  // namespace linformer::cli
