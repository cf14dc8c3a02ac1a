// Alterations of JSON that stay JSON.
#pragma once

#include <string>

#include "fuzz/random.h"

namespace linformer_fuzz {

// `text` with some of its values, keys or nesting changed; by bytes where it is no JSON, and sometimes where it is.
// At most `most` long.
std::string altered_json(const std::string& text, size_t most, Random& random);

// The same for a JSON text in each line.
std::string altered_json_lines(const std::string& text, size_t most, Random& random);

}  // namespace linformer_fuzz
