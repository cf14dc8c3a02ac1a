// Options that set which texts a command reads.
#pragma once

#include "input/input_options.h"

// CLI::App is declared here because including <CLI/CLI.hpp> would take seconds in every file that includes this one.
namespace CLI {
class App;
}

namespace linformer::cli {

struct InputFlags : InputOptions {
  // The options of the files and of the records in them, for commands that read neither pairs nor ids.
  void add_files_to(CLI::App* command);
  // The option --keep, for commands whose answers are records.
  void add_keep_to(CLI::App* command);
  // All options. `argument_texts`: the command takes texts as arguments too.
  void add_to(CLI::App* command, bool argument_texts = true);
};

}  // namespace linformer::cli
