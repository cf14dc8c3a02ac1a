// Calls that concern this process: its arguments, its standard streams, and its replacement by another program.
#pragma once

#include <string>

namespace linformer::system {

// To be called first in main(). On Windows `arguments` then has the command line in UTF-8, standard streams pass bytes
// as they are, and a console shows UTF-8 and obeys escape sequences. POSIX needs nothing of it.
void prepare_process(int* argument_count, char*** arguments);

// A file that is opened later must not become standard output or error because the caller closed them.
void fill_standard_descriptors();
// A closed pipe is then an error of a write, and temporary files are cleaned up.
void ignore_closed_pipes();
// Writing beyond a limit of the file's size (ulimit -f) is then an error of a write, as on a full disk.
void ignore_size_limits();

// The path of this program; empty where the system doesn't say.
std::string own_program();
// Replaces this process by the program whose file name is `arguments[0]`. The file in this program's own folder is
// preferred to one on the PATH.
// Windows can't replace a process: there the program runs as a child, and this process ends with its exit code. Returns
// the reason if the program can't be started, and not at all otherwise. `arguments` ends with a null pointer.
std::string become_program(char** arguments);

}  // namespace linformer::system
