// Text that tries to control a terminal, and checks that what programs print doesn't.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "cli/process.h"

namespace linformer_test {

// Valid UTF-8 with a colour, lines that look like the program's own, a DEL and a C1 control character.
inline const std::string hostile_text =
    "a\x1b[31mb\nINJECTED\rINJECTED\x7f\xc2\x9b"
    "31mc";
// The same text with a byte that isn't UTF-8, which the name of a file may contain.
inline const std::string hostile_bytes = hostile_text + "\xff";

// Returns whether the tests try every combination, as tests/long.sh asks for, instead of each part once.
bool exhaustive();

// Returns what a terminal would act on in `printed`: a control character other than a line feed or a tab, bytes that
// aren't UTF-8, or a line that the hostile text began. Returns "" if there is none of these.
std::string terminal_fault(const std::string& printed);

// Runs the program and checks both of its outputs with doctest, which shows `arguments` if a check fails.
Ran run_and_check_output(const std::string& program, const std::vector<std::string>& arguments,
                         const std::string& input = "");

// While an object of this class exists, programs that the test starts have `path` as their working directory. Otherwise
// an option that writes a file could leave one with a hostile name in the developer's folder.
class WorkingDirectory {
 public:
  explicit WorkingDirectory(const std::string& path) { std::filesystem::current_path(path); }
  ~WorkingDirectory() { std::filesystem::current_path(before_); }
  WorkingDirectory(const WorkingDirectory&) = delete;
  WorkingDirectory& operator=(const WorkingDirectory&) = delete;

 private:
  std::filesystem::path before_ = std::filesystem::current_path();
};

// Returns the options that `program arguments... --help-all` lists, such as "--batch".
std::vector<std::string> listed_options(const std::string& program, const std::vector<std::string>& arguments);

}  // namespace linformer_test
