// The arguments of linformer-convert: what they are called, and what is wrong with them.
#pragma once

#include <string>
#include <vector>

#include "help/command_table.h"
#include "linformer/convert.h"

// CLI::App is declared here because including <CLI/CLI.hpp> would take seconds in every file that includes this one.
namespace CLI {
class App;
}

namespace linformer::convert {

inline constexpr int exit_usage = 2;

struct Arguments {
  ConvertOptions convert;
  std::string from_lnfr, dtype;
  std::vector<std::string> dtype_for;
  bool list_dialects = false, list_models = false, json = false, quiet = false, verbose = false, no_mmap = false;
};

help::Texts help_texts();
void declare(CLI::App& app, Arguments* arguments);
// What CLI11 can't say: which arguments belong together, and what is a type or a dialect. Throws CLI::ParseError.
void check(const CLI::App& app, Arguments* arguments);

}  // namespace linformer::convert
