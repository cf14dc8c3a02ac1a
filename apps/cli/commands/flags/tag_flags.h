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
  std::string model, head, eval, aggregation;  // `aggregation` is empty if the option was not given.
  InputFlags input;
  OutputFlags output;
  TokenFlags tokens;
  LongFlags longer;
  RunFlags run;
  std::optional<double> threshold;

  void add_to(CLI::App* command);
  // Throws UsageError for options that can't be combined, and for a text that is the name of a model file. For a
  // text that is the name of a file of another kind, prints a note. Sets input.array_option if words of arrays are
  // tagged.
  void check();
  // Returns the format of the answers. If no option chooses it, answers are a table on a terminal and lines otherwise.
  OutputFormat format() const;
  Aggregation aggregation_value() const;
};

}  // namespace linformer::cli
