#include "terminal/progress_line.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "system/descriptors.h"
#include "system/terminal.h"
#include "terminal/shown_text.h"

namespace linformer::terminal {

std::string time_text(double seconds) {
  constexpr double minute = 60, hour = 60 * minute;
  const auto rounded = [](double value) { return std::to_string(std::llround(std::min(value, 1e9))); };
  if (seconds < 2 * minute) return rounded(seconds) + " s";
  return seconds < 2 * hour ? rounded(seconds / minute) + " min" : rounded(seconds / hour) + " h";
}

ProgressLine::ProgressLine(bool wanted) : active_(wanted && system::is_terminal(system::standard_error)) {}

bool ProgressLine::due() {
  if (!active_) return false;
  const Clock::time_point now = Clock::now();
  if (now - last_ < std::chrono::milliseconds(100)) return false;
  last_ = now;
  return true;
}

double ProgressLine::seconds() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }

bool ProgressLine::has_rate() const { return seconds() >= 0.3; }

void ProgressLine::show(const std::string& text, double share) {
  if (!active_) return;
  constexpr size_t width = 24;
  std::string line;
  if (share >= 0) {
    const double done = std::clamp(share, 0.0, 1.0);
    std::string bar(static_cast<size_t>(done * width), '#');
    bar.resize(width, '.');
    line = "[" + bar + "] " + std::to_string(static_cast<int>(100 * done)) + " % ";
  }
  line += text;
  if (share > 0 && has_rate()) line += ", " + time_text(seconds() / share - seconds()) + " left";
  std::fprintf(stderr, "\r\033[K%s", excerpt(line, system::terminal_width(system::standard_error, 80) - 1).c_str());
  std::fflush(stderr);
  shown_ = true;
}

void ProgressLine::clear() {
  if (!shown_) return;
  std::fputs("\r\033[K", stderr);
  std::fflush(stderr);
  shown_ = false;
}

}  // namespace linformer::terminal
