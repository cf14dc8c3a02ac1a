// What a model file is for: the commands of the program `linformer` that answer with it.
#pragma once

#include <string>
#include <vector>

#include "linformer/model.h"

namespace linformer::files {

struct ModelUse {
  std::string command;    // such as "tag"
  std::string arguments;  // an example of what stands behind the model, short so that a line has room for a path
};

// The commands for `model`, those of its heads first; empty where only the library runs it.
std::vector<ModelUse> uses_of(const Model& model);

// The line to type for a model in the file `path`, which is quoted where the shell would read it otherwise.
std::string command_line(const ModelUse& use, const std::string& path);

}  // namespace linformer::files
