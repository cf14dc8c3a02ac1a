// Options that set which texts a command reads.
#pragma once

#include "input/input_options.h"

// CLI::App is declared here because including <CLI/CLI.hpp> would take seconds in every file that includes this one.
namespace CLI {
class App;
}

namespace linformer::cli {

struct InputFlags : InputOptions {
  // `argument_texts`: the command takes texts as arguments too.
  void add_to(CLI::App* command, bool argument_texts = true);
};

}  // namespace linformer::cli
