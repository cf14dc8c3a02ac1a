// Files that a folder may have or lack.
#pragma once

#include <filesystem>

namespace linformer::convert {

// Whether there is such a file. Throws Error naming it where something of that name is there and can't be read as a
// file, such as a link to nothing, a folder or a FIFO: it was meant to be read, so it doesn't count as absent. Every
// file that is looked for beside another or in a folder is looked for with this function.
bool finds_file(const std::filesystem::path& path);

}  // namespace linformer::convert
