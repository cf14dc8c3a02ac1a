// Alters command lines and files of records.
#pragma once

#include <string>

#include "fuzz/random.h"

namespace linformer_fuzz {

// Alters a command line. Each line of `text` is an argument.
std::string altered_arguments(const std::string& text, Random& random);

// Alters a file of records. The result has at most `most` bytes.
std::string altered_records(const std::string& text, size_t most, Random& random);

}  // namespace linformer_fuzz
