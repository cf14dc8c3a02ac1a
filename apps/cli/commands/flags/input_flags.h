// Options that set which texts a command reads.
#pragma once

#include "input/input_options.h"

// CLI::App is declared here because including <CLI/CLI.hpp> would take seconds in every file that includes this one.
namespace CLI {
class App;
}

namespace linformer::cli {

struct InputFlags : InputOptions {
  // Adds the texts on the command line, which follow the model. A text "-" means standard input.
  void add_texts_to(CLI::App* command, const std::string& description);
  // Adds the options of the files and of the records in them, for commands that read neither pairs nor ids.
  void add_files_to(CLI::App* command);
  // Adds the options of add_files_to(), --limit and --id, for commands whose records have no second text.
  void add_records_to(CLI::App* command);
  // Adds the option --keep, for commands that write an answer for each record.
  void add_keep_to(CLI::App* command);
  // Adds the options of add_records_to() and those of pairs of texts.
  void add_to(CLI::App* command);
};

}  // namespace linformer::cli
