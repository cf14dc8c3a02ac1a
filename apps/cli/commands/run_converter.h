// `linformer convert` is the program linformer-convert under another name.
#pragma once

#include <string>

namespace linformer::cli {

// Replaces this process by linformer-convert, which lies beside this program or on the PATH. `arguments`: those of
// `convert`, a null pointer behind the last; the first one is the place of the program's name. Returns, with a
// sentence, only if the program can't be started.
std::string run_converter(char** arguments);

}  // namespace linformer::cli
