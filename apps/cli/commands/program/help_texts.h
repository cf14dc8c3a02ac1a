// What --help and the man pages say of a command beside its options.
#pragma once

#include <string>

#include "help/command_table.h"

namespace linformer::cli {

// `command`: a name such as "classify"; empty for the program itself. Made when they are asked for, so that a command's
// start costs nothing.
help::Texts help_texts(const std::string& command);

}  // namespace linformer::cli
