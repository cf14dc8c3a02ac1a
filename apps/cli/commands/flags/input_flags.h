// Options that set which texts a command reads.
#pragma once

#include "input/input_options.h"

// CLI::App is declared here because including <CLI/CLI.hpp> would take seconds in every file that includes this one.
namespace CLI {
class App;
}

namespace linformer::cli {

struct InputFlags : InputOptions {
  // The texts on the command line, which follow the model; "-" among them is standard input.
  void add_texts_to(CLI::App* command, const std::string& description);
  // The options of the files and of the records in them, for commands that read neither pairs nor ids.
  void add_files_to(CLI::App* command);
  // These, --limit and --id, for commands whose records are texts without a second one.
  void add_records_to(CLI::App* command);
  // The option --keep, for commands whose answers are records.
  void add_keep_to(CLI::App* command);
  // The same and those of pairs.
  void add_to(CLI::App* command);
};

}  // namespace linformer::cli
