// Finds outputs that are also inputs, because writing them would replace the input.
#pragma once

#include <span>
#include <string>

namespace linformer::files {

// The first of `inputs` that is the same regular file as `output`, whatever their names are: links and /dev/fd/N are
// followed. "-" is standard output, and among the inputs standard input; "" and what doesn't exist are no files. Null
// where there is none. Never throws.
const std::string* same_file(const std::string& output, std::span<const std::string> inputs);

// True where both name one regular file, whether it exists yet or not. "" and "-" name none. Never throws.
bool same_output(const std::string& one, const std::string& other);

}  // namespace linformer::files
