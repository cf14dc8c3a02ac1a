// The rules for how any command must end, whatever the model.
#pragma once

#include <string>

#include "cli/process.h"
#include "commands/command_lines.h"

namespace linformer_test {

// Returns which rule the run of the command broke, or "" if it broke none:
// - The exit code is 0, 1 or 2, and standard error has no report of a sanitizer.
// - If the exit code is 0, standard error has no line about an error or a bad record. Otherwise it has one error line,
//   a count of bad records, or the line of the bad record that ended the command; or the JSON answer has the error.
// - Standard output is JSON if JSON was asked for. After an error it may be empty.
// - The npy file that the command writes is complete. After an error it may be missing.
std::string breach_of_contract(const CommandLine& line, const Ran& ran);

}  // namespace linformer_test
