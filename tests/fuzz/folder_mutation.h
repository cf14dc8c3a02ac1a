// The mutator of the targets whose inputs are folders. Each of these targets links folder_mutation.cc, which defines
// libFuzzer's two mutation functions, and defines altered_part() for its own parts.
#pragma once

#include <string>

#include "fuzz/folder.h"
#include "fuzz/random.h"

namespace linformer_fuzz {

// Returns the new content of a part. The caller discards a result of more than `room` bytes. Each target defines it.
std::string altered_part(const FolderPart& part, size_t room, Random& random);

}  // namespace linformer_fuzz
