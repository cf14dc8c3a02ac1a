// Alterations of safetensors files whose header stays JSON and whose length stays right.
#pragma once

#include <string>

#include "fuzz/random.h"

namespace linformer_fuzz {

// Empty where the bytes are no such file, or the result would be longer than `most`.
std::string altered_safetensors(const std::string& file, size_t most, Random& random);

}  // namespace linformer_fuzz
