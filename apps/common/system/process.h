// Functions for this process: its arguments, its standard streams, and its replacement by another program.
#pragma once

#include <string>

namespace linformer::system {

// Prepares the arguments and the standard streams. Call it first in main(). On Windows it sets `arguments` to the
// command line in UTF-8, makes the standard streams binary, and makes a console show UTF-8 and obey escape sequences.
// On POSIX it does nothing.
void prepare_process(int* argument_count, char*** arguments);

// Opens standard descriptors that the parent process closed. Otherwise a file that is opened later would become
// standard output or standard error.
void open_missing_standard_streams();
// Ignores SIGPIPE, so that a write to a closed pipe returns an error and the program can remove its temporary files.
void ignore_closed_pipes();
// Ignores SIGXFSZ, so that a write beyond the limit of file sizes (ulimit -f) returns an error, as on a full disk.
void ignore_file_size_signal();

// Returns the path of this program, or an empty string if the system can't tell it.
std::string own_program_path();
// Replaces this process by the program whose file name is `arguments[0]`. A file in this program's own folder is
// preferred to one on the PATH. Windows can't replace a process: the program runs as a child there, and this process
// ends with the child's exit code. Returns the system's reason if the program can't be started, and doesn't return
// otherwise. `arguments` ends with a null pointer.
std::string become_program(char** arguments);

}  // namespace linformer::system
