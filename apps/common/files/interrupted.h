// Counts the records that a program has answered, so that a signal handler can report the number.
#pragma once

#include <cstddef>

namespace linformer::files {

// Adds `records` to the number of answered records. Their answers may still be in a buffer of the output, so the signal
// handlers (signals.h) report them only after mark_answers_written() has been called.
void count_answers(size_t records);

// Notes that the answers of all counted records have been written. If the program has called count_answers(), even
// with 0, the handlers report this count when SIGINT or SIGTERM ends the program. A signal between the write and this
// call reports the count from before the write.
void mark_answers_written();

// Writes a sentence with the number of answered records to standard error, or nothing if the program counts no records.
// `unfinished` says that an output file was incomplete and has been removed. Safe to call in a signal handler.
void report_interruption(bool unfinished);

}  // namespace linformer::files
