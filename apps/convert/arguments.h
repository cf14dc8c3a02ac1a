// Declares and checks the arguments of linformer-convert.
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
// Checks what CLI11 can't check, such as which arguments contradict each other and whether types and dialects exist.
// Sets the types in arguments->convert. Throws CLI::ParseError.
void check(const CLI::App& app, Arguments* arguments);

}  // namespace linformer::convert
