// Looks for files that a folder may have or lack.
#pragma once

#include <filesystem>

namespace linformer::convert {

// Returns whether the file exists. Throws Error, which names the path, if something exists under that name that can't
// be read as a file, such as a broken link, a folder or a FIFO. Such a file must not count as absent, because the user
// meant it to be read. The converter uses this function for every file that it reads if a folder has it.
bool finds_file(const std::filesystem::path& path);

}  // namespace linformer::convert
