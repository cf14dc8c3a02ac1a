// The examples and notes in --help and the man page of each command.
#pragma once

#include <string>

#include "help/command_table.h"

namespace linformer::cli {

// Returns the texts for `command`, a name such as "classify", or "" for the program itself. They are built by this call
// and not at the start of the program, so that commands start fast.
help::Texts help_texts(const std::string& command);

}  // namespace linformer::cli
