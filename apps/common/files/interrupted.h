// What a signal that ends the program says about the work that was done until then.
#pragma once

#include <cstddef>

namespace linformer::files {

// Counts `records` more that have their answer. The answer may still wait in a buffer of the output, so the handlers of
// signals.h know nothing of it before answers_written() is called.
void count_answers(size_t records);

// Says that the answers of all counted records were written. Where some were counted, even 0, the handlers say how many
// there are when SIGINT or SIGTERM ends the program. A signal that comes between the write and this call finds the
// count from before the write.
void answers_written();

// Writes that sentence to standard error. `unfinished`: a file of the program's output was not finished, and is gone.
// Safe in a signal handler.
void report_interruption(bool unfinished);

}  // namespace linformer::files
