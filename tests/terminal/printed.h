// Text that tries to take over a terminal, and whether it could.
#pragma once

#include <string>
#include <vector>

#include "cli/process.h"

namespace linformer_test {

// Colours, lines that look like the program's own, a deleted character, a C1 control; UTF-8.
inline const std::string hostile_text =
    "a\x1b[31mb\nINJECTED\rINJECTED\x7f\xc2\x9b"
    "31mc";
// The same with a byte that is no UTF-8, as a file's name may have.
inline const std::string hostile_bytes = hostile_text + "\xff";

// Whether every combination is tried, as tests/long.sh does, or each part once.
bool exhaustive();

// What in `printed` a terminal would act on: a control character other than a line feed or a tab, bytes that are no
// UTF-8, a line that the hostile text began. Empty: nothing.
std::string terminal_fault(const std::string& printed);

// Runs the program and checks both of its outputs with doctest. `arguments` are shown where it fails.
Ran check_printed(const std::string& program, const std::vector<std::string>& arguments, const std::string& input = "");

// The options that `program arguments... --help` tells of, such as "--batch".
std::vector<std::string> options_of(const std::string& program, const std::vector<std::string>& arguments);

}  // namespace linformer_test
