// The options of `linformer compare`.
#pragma once

#include <string>

#include "commands/flags/input_flags.h"
#include "commands/flags/run_flags.h"
#include "commands/flags/text_flags.h"

namespace linformer::cli {

struct CompareFlags {
  std::string first, second, head, eval, reference;
  InputFlags input;
  TokenFlags tokens;
  RunFlags run;
  bool json = false;

  void add_to(CLI::App* command);
  // With --reference there is no second model, so the arguments after the first model are texts, but for one that ends
  // in .lnfr, which check() refuses. If there are no texts, standard input is read if it is a pipe or a file.
  void assign_positionals();
  // Throws UsageError for options that can't be combined, and for a text that is the name of a model file. For a
  // text that is the name of a file of another kind, prints a note.
  void check() const;
};

}  // namespace linformer::cli
