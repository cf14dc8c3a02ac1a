// Options that set how texts are split into tokens, and how texts are handled that are longer than the model takes.
#pragma once

#include <cstdint>
#include <string>

#include "commands/flags/run_flags.h"
#include "linformer/text_input.h"

// CLI::App is declared here because including <CLI/CLI.hpp> would take seconds in every file that includes this one.
namespace CLI {
class App;
}

namespace linformer::cli {

// How a text is tokenized.
struct TokenFlags {
  std::string side = "head";
  bool literal_special = false;

  // Adds --literal-special.
  void add_literal_to(CLI::App* command);
  // The same and --side.
  void add_to(CLI::App* command);
  EncodeOptions options() const;
};

// Returns the Truncation that is named longest_first, only_first, only_second or none.
Truncation parse_truncation(const std::string& name);

// Options for texts with more tokens than the model takes.
struct LongFlags {
  std::string on_long = "truncate", truncation = "longest_first";
  int64_t overlap = -1;

  // Adds --on-long and --overlap, whose default is in words. `windows` is the part of --on-long's help that says how a
  // command combines the results of the windows of a text.
  void add_windows_to(CLI::App* command, const std::string& windows, const std::string& usual_overlap);
  // The same for commands that read pairs, with --truncation.
  void add_to(CLI::App* command, const std::string& windows);
  OnLong value() const;
  // Which text of a pair is cut or read by windows.
  Truncation pair_truncation() const;
};

// How texts are read and run: what Classifier, Embedder, MaskFiller and TextRunner are created with. `longer` may be
// null: texts that are too long are cut.
TextOptions text_options(const RunFlags& run, const TokenFlags& tokens, const LongFlags* longer);

}  // namespace linformer::cli
