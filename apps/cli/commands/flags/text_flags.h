// The options that say how texts are cut into tokens, and what becomes of long ones.
#pragma once

#include <cstdint>
#include <string>

#include "commands/flags/run_flags.h"
#include "linformer/text_input.h"

// Not <CLI/CLI.hpp>, which takes seconds to compile.
namespace CLI {
class App;
}

namespace linformer::cli {

// The text's tokens.
struct TokenFlags {
  std::string side = "head";
  bool literal_special = false;

  void add_to(CLI::App* command);
  EncodeOptions options() const;
};

// longest_first, only_first, only_second or none.
Truncation parse_truncation(const std::string& name);

// Texts with more tokens than the model takes.
struct LongFlags {
  std::string on_long = "truncate", truncation = "longest_first";
  int64_t overlap = -1;

  // `windows`: what becomes of them.
  void add_to(CLI::App* command, const std::string& windows);
  OnLong value() const;
  // Which text of a pair is cut or read by windows.
  Truncation pair_truncation() const;
};

// How texts are read and run: what Classifier and Embedder are created with. Throws UsageError when a flag doesn't fit
// the model.
TextOptions text_options(const Model& model, const RunFlags& run, const TokenFlags& tokens, const LongFlags* longer);

}  // namespace linformer::cli
