#include "answers/progress.h"

#include "answers/notes.h"
#include "command_line/display.h"

namespace linformer::cli {

Progress::Progress(bool wanted, const char* singular, const char* plural)
    : line_(wanted && verbosity() != Verbosity::quiet), one_(singular), several_(plural) {}

void Progress::update(uint64_t records, uint64_t done, uint64_t total) {
  if (!line_.due() || !line_.has_rate()) return;
  const double rate = static_cast<double>(records) / line_.seconds();
  line_.show(grouped(records) + " " + (records == 1 ? one_ : several_) + ", " + fixed(rate, 1) + " a second",
             total > 0 && done > 0 ? static_cast<double>(done) / static_cast<double>(total) : -1);
}

}  // namespace linformer::cli
