// The options of `linformer tag`.
#pragma once

#include <optional>
#include <string>

#include "commands/flags/input_flags.h"
#include "commands/flags/output_flags.h"
#include "commands/flags/run_flags.h"
#include "commands/flags/text_flags.h"
#include "linformer/tagger.h"

namespace linformer::cli {

struct TagFlags {
  std::string model, head, eval, aggregation;  // aggregation: empty where it was not given
  InputFlags input;
  OutputFlags output;
  TokenFlags tokens;
  LongFlags longer;
  RunFlags run;
  std::optional<double> threshold;

  void add_to(CLI::App* command);
  // Throws UsageError where options don't go together, and says what was probably meant otherwise.
  void check();
  // Returns the format of the answers, which are shown where nothing says where they go.
  OutputFormat format() const;
  Aggregation aggregation_value() const;
};

}  // namespace linformer::cli
