// What --help and the man pages say of a command beside its options.
#pragma once

#include <string>

#include "help/command_table.h"

namespace linformer::cli {

// `command`: a name such as "classify"; empty for the program itself.
help::Texts help_texts(const std::string& command);

}  // namespace linformer::cli
