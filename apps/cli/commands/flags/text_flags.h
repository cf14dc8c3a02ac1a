// Options that set how texts are split into tokens, and how texts with more tokens than the model takes are handled.
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

// Options that set how a text is tokenized.
struct TokenFlags {
  std::string side = "head";
  bool literal_special = false;

  // Adds --literal-special.
  void add_literal_to(CLI::App* command);
  // Adds --literal-special and --side.
  void add_to(CLI::App* command);
  EncodeOptions options() const;
};

// Returns the Truncation that is named longest_first, only_first, only_second or none.
Truncation parse_truncation(const std::string& name);

// Options for texts with more tokens than the model takes.
struct LongFlags {
  std::string on_long = "truncate", truncation = "longest_first";
  int64_t overlap = -1;

  // Adds --on-long and --overlap. `windows` is the part of the help of --on-long that says how a command combines the
  // results of the windows of a text. `usual_overlap` is the default of --overlap as the help writes it.
  void add_windows_to(CLI::App* command, const std::string& windows, const std::string& usual_overlap);
  // Adds the same options and --truncation, for commands that read pairs of texts.
  void add_to(CLI::App* command, const std::string& windows);
  OnLong value() const;
  // Returns which text of a pair is cut or read in windows.
  Truncation pair_truncation() const;
};

// Returns the options with which Classifier, Embedder, MaskFiller and TextRunner are created. If `longer` is null,
// texts that are too long are cut.
TextOptions text_options(const RunFlags& run, const TokenFlags& tokens, const LongFlags* longer);

}  // namespace linformer::cli
