// The options that say where texts come from.
#pragma once

#include "input/input_options.h"

// Not <CLI/CLI.hpp>, which takes seconds to compile.
namespace CLI {
class App;
}

namespace linformer::cli {

struct InputFlags : InputOptions {
  // `argument_texts`: the command takes texts as arguments too.
  void add_to(CLI::App* command, bool argument_texts = true);
};

}  // namespace linformer::cli
