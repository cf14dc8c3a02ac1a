// What a signal that ends the program says about the work that was done until then.
#pragma once

#include <cstddef>

namespace linformer::files {

// Notes how many records were read; the handlers of signals.h say it when SIGINT or SIGTERM ends the program.
void note_records(size_t count);

// Writes the sentence to standard error, or nothing where no record was noted. Safe in a signal handler.
void report_interruption();

}  // namespace linformer::files
