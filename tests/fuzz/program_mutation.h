// Alterations of command lines and of records.
#pragma once

#include <string>

#include "fuzz/random.h"

namespace linformer_fuzz {

// `text` has an argument in each line.
std::string altered_arguments(const std::string& text, Random& random);

// At most `most` long.
std::string altered_records(const std::string& text, size_t most, Random& random);

}  // namespace linformer_fuzz
