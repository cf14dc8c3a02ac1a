// Alters pickles opcode by opcode, and the zip archives that contain them.
#pragma once

#include <string>

#include "fuzz/random.h"

namespace linformer_fuzz {

// Returns `bytes` with opcodes and arguments of its first `pickles` pickles removed, repeated, moved, changed or added.
// Bytes after these pickles stay unchanged.
std::string altered_pickle(const std::string& bytes, size_t pickles, Random& random);

// Alters or repeats pickles, storages and names in a PyTorch zip archive, and writes valid sizes and checksums. Returns
// an empty string if `archive` isn't a zip archive or the result would be longer than `most` bytes.
std::string altered_torch_zip(const std::string& archive, size_t most, Random& random);

}  // namespace linformer_fuzz
