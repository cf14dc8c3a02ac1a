// Alters safetensors files. The length of the header stays valid, and the header usually stays JSON.
#pragma once

#include <string>

#include "fuzz/random.h"

namespace linformer_fuzz {

// Returns an altered file. The result is empty if `file` is too short for its header or the altered file would be
// longer than `most` bytes.
std::string altered_safetensors(const std::string& file, size_t most, Random& random);

}  // namespace linformer_fuzz
