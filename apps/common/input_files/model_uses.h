// Lists the commands of the program `linformer` that can run a model, with an example of each.
#pragma once

#include <string>
#include <vector>

#include "linformer/model.h"

namespace linformer::files {

struct ModelUse {
  std::string command;    // The name of the command, such as "tag".
  std::string arguments;  // Example arguments that follow the model. They are short, so that the line can hold a path.
};

// Returns the commands that can run `model`, with the commands for its heads first. The result is empty if only the
// library can run it.
std::vector<ModelUse> commands_that_run(const Model& model);

// Returns the command line that runs `use` with the model file `path`. The path is quoted if the shell needs it.
std::string command_line(const ModelUse& use, const std::string& path);

}  // namespace linformer::files
