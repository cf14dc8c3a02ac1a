// How any command must end, whatever the model.
#pragma once

#include <string>

#include "cli/process.h"
#include "commands/command_lines.h"

namespace linformer_test {

// What is wrong with the way in which the command ended; "" where nothing is:
// - exit code 0, 1 or 2, and no report of a sanitizer;
// - exactly one error line where the code isn't 0, or else bad records that are counted; none where it is;
// - JSON where it was asked for;
// - an array that is whole, or none.
std::string breach_of_contract(const CommandLine& line, const Ran& ran);

}  // namespace linformer_test
