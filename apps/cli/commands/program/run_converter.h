// Runs the program linformer-convert for `linformer convert`.
#pragma once

#include <string>

namespace linformer::cli {

// Replaces this process by linformer-convert, which lies beside this program or on the PATH. `arguments` ends with a
// null pointer. Its first element is overwritten with the program's name. The elements after it are the arguments of
// `convert`. It returns only if the program can't be started; the string is then the error message.
std::string exec_converter(char** arguments);

}  // namespace linformer::cli
