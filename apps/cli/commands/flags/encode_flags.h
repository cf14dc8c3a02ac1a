// The options of `linformer encode`.
#pragma once

#include <string>

#include "commands/flags/input_flags.h"
#include "commands/flags/run_flags.h"
#include "commands/flags/text_flags.h"

namespace linformer::cli {

struct EncodeFlags {
  std::string model, ids, vectors, what = "hidden", output, on_long = "truncate";
  InputFlags input;
  TokenFlags tokens;
  RunFlags run;

  void add_to(CLI::App* command);
  // Throws UsageError for options that can't be combined, and for a text that is the name of a model file. For a
  // text that is the name of a file of another kind, prints a note.
  void check() const;
};

}  // namespace linformer::cli
