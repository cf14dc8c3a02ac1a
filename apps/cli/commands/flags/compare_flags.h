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
  // With --reference there is no second model, so what follows the first one are texts. Without texts a pipe is read.
  void take_arguments();
  // Throws UsageError where options don't go together.
  void check() const;
};

}  // namespace linformer::cli
