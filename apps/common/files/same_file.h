// Finds outputs that are also inputs, because writing them would replace the input.
#pragma once

#include <span>
#include <string>

namespace linformer::files {

// Returns the first of `inputs` that is the same regular file as `output`, or null if none is. Different names of one
// file are recognised, because links and /dev/fd/N are followed. `output` "-" is standard output, and an input "-" is
// standard input. Empty names and names of files that don't exist match nothing. Never throws.
const std::string* same_file(const std::string& output, std::span<const std::string> inputs);

// Returns whether both names are the same regular file, even if it doesn't exist yet. Returns false if one of them is
// "" or "-". Never throws.
bool same_output(const std::string& one, const std::string& other);

}  // namespace linformer::files
