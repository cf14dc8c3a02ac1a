// The rules between the folders outside the runtime: apps may use converter, and converter the runtime, never the other
// way round. `file` is relative to the tree's root in all of them.
#pragma once

#include "layers/rules.h"

namespace linformer_test {

// A file of the converter includes its own folders and the runtime's lower layers, and nothing of the programs. It
// knows neither a terminal nor its process: it prints nothing, handles no signal and ends nothing.
Findings check_converter(const std::string& file, const std::string& source);
// Its public header includes public headers alone.
Findings check_converter_header(const std::string& file, const std::string& source);
// target_link_libraries() of the converter names no target of the programs.
Findings check_converter_links(const std::string& file, const std::string& cmake);
// What the programs share includes itself and public headers.
Findings check_common(const std::string& file, const std::string& source);
// A program (the command line, the converter's, examples, training) includes its own folders, what the programs share,
// and of the library and the converter public headers alone.
Findings check_program(const std::string& file, const std::string& source);

// All of them for one file: none for a file that they don't concern.
Findings check_folders(const std::string& file, const std::string& text);

}  // namespace linformer_test
