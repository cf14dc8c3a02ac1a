#include "files/terminal_output.h"

#include <unistd.h>

#include "files/output_target.h"

namespace linformer::files {

bool is_terminal(const std::string& path) { return is_standard_output(path) && ::isatty(STDOUT_FILENO) == 1; }

}  // namespace linformer::files
