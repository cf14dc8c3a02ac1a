// Alters JSON texts such that the result is usually JSON again.
#pragma once

#include <string>

#include "fuzz/random.h"

namespace linformer_fuzz {

// Changes some of the values, the keys or the nesting of `text`. If it isn't JSON, and sometimes if it is, its bytes
// are altered instead. The result has at most `most` bytes.
std::string altered_json(const std::string& text, size_t most, Random& random);

// Alters a text with one JSON value in each line. The result has at most `most` bytes.
std::string altered_json_lines(const std::string& text, size_t most, Random& random);

}  // namespace linformer_fuzz
