// This process, and another program in its place.
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
// Runs the program `arguments[0]`, a name, in the place of this one: that beside this program, or else one on the PATH.
// Where a system can't replace a program, it becomes a child, and this process ends with its exit code. Returns only
// where it can't be started, with the reason. `arguments` ends with a null pointer.
std::string become_program(char** arguments);

}  // namespace linformer::system
