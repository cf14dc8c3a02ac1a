// A program with the arguments and inputs with which it writes a file.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "cli/process.h"
#include "cli/sentiment_model.h"

namespace linformer_test {

struct WritingProgram {
  std::string name;
  std::string program;
  std::function<std::vector<std::string>(const std::string& output)> arguments;
  std::string input;  // the file that the program maps

  Ran run(const std::string& output) const { return run_program(program, arguments(output)); }
};

// Returns every way in which the programs write a file. Writes the inputs into `folder`, which must exist as long as
// the programs run. Outputs are larger than one write if that is easy to achieve.
std::vector<WritingProgram> writing_programs(const Folder& folder);

}  // namespace linformer_test
