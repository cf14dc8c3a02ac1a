#include "answers/progress.h"

#include <unistd.h>

#include <cstdio>
#include <string>

#include "answers/notes.h"
#include "command_line/display.h"

namespace linformer::cli {

Progress::Progress(bool wanted) : active_(wanted && verbosity() != Verbosity::quiet && ::isatty(STDERR_FILENO)) {}

void Progress::update(uint64_t records, uint64_t bytes, uint64_t bytes_total) {
  if (!active_) return;
  const Clock::time_point now = Clock::now();
  if (now - last_ < std::chrono::milliseconds(100)) return;
  last_ = now;
  const double seconds = std::chrono::duration<double>(now - start_).count();
  if (seconds < 0.3) return;  // no rate yet worth showing
  std::string line = grouped(records) + (records == 1 ? " record, " : " records, ") +
                     fixed(static_cast<double>(records) / seconds, 1) + " a second";
  if (bytes_total > 0 && bytes > 0) {
    const double done = static_cast<double>(bytes) / static_cast<double>(bytes_total);
    line = fixed(100 * done, 0) + "%  " + line + ", " + fixed(seconds / done - seconds, 0) + " s left";
  }
  std::fprintf(stderr, "\r\033[K%s", excerpt(line, terminal_width(STDERR_FILENO, 80) - 1).c_str());
  std::fflush(stderr);
  shown_ = true;
}

void Progress::clear() {
  if (!shown_) return;
  std::fputs("\r\033[K", stderr);
  std::fflush(stderr);
  shown_ = false;
}

}  // namespace linformer::cli
