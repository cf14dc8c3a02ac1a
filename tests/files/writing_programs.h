// Every way in which our programs write a file, each with inputs of its own.
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

// Writes the inputs into `folder`, which must outlive them. Outputs are larger than one write where that is easy.
std::vector<WritingProgram> writing_programs(const Folder& folder);

}  // namespace linformer_test
