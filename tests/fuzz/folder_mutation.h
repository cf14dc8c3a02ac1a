// Mutators of the targets whose inputs are folders. Such a target links folder_mutation.cc, which has libFuzzer's two
// functions, and says how its own parts are altered.
#pragma once

#include <string>

#include "fuzz/folder.h"
#include "fuzz/random.h"

namespace linformer_fuzz {

// The new content of a part; what doesn't fit into `room` is not used. Defined by each target.
std::string altered_part(const FolderPart& part, size_t room, Random& random);

}  // namespace linformer_fuzz
