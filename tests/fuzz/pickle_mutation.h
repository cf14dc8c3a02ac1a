// Alterations of pickles, opcode by opcode, and of the archives that hold them.
#pragma once

#include <string>

#include "fuzz/random.h"

namespace linformer_fuzz {

// Opcodes with their arguments dropped, repeated, moved and changed. What follows `pickles` pickles stays as it is.
std::string altered_pickle(const std::string& bytes, size_t pickles, Random& random);

// A PyTorch zip archive with an altered pickle or storage; sizes and checksums are right.
// Something else where the bytes are no such archive: the caller goes on with bytes. Empty then.
std::string altered_torch_zip(const std::string& archive, size_t most, Random& random);

}  // namespace linformer_fuzz
