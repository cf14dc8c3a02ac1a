// Checks the dependencies between the folders outside the runtime: apps may use the converter, and the converter may
// use the runtime, but not the other way round. Each function returns the violations in one file. `file` is its path
// from the root of the source tree.
#pragma once

#include "layers/rules.h"

namespace linformer_test {

// A file of the converter may include its own folders and the lower layers of the runtime, but nothing of the programs.
// It may not print, handle signals or end the process, and its errors may not contain options of a program.
Findings check_converter(const std::string& file, const std::string& source);
// A public header of the converter may include only public headers.
Findings check_converter_header(const std::string& file, const std::string& source);
// target_link_libraries() of the converter may not name a target of the programs.
Findings check_converter_links(const std::string& file, const std::string& cmake);
// Code that programs share may include only itself and public headers.
Findings check_shared_code(const std::string& file, const std::string& source);
// A program (the command line, the converter's program, examples, training) may include its own folders, the code that
// programs share, and public headers of the library and the converter.
Findings check_program(const std::string& file, const std::string& source);

// Applies the rules that concern this file, according to its folder.
Findings check_folder_rules(const std::string& file, const std::string& text);

}  // namespace linformer_test
