// The rules for how any command must end, whatever the model.
#pragma once

#include <string>

#include "cli/process.h"
#include "commands/command_lines.h"

namespace linformer_test {

// Says which rule the command broke, or gives "" if it kept all of them:
// - The exit code is 0, 1 or 2, and standard error has no report of a sanitizer.
// - If the exit code isn't 0, there is exactly one error line or a count of bad records; if it is 0, there is neither.
// - Standard output is JSON if JSON was asked for.
// - The array is complete, or there is none.
std::string breach_of_contract(const CommandLine& line, const Ran& ran);

}  // namespace linformer_test
