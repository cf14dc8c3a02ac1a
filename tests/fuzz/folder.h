// A folder of files as one input, in which a line "==== NAME" precedes the content of each file (part), and a temporary
// folder into which the parts are written.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "support/temporary_folder.h"

namespace linformer_fuzz {

struct FolderPart {
  std::string name, content;
};
using Parts = std::vector<FolderPart>;

// Splits an input into its parts. Bytes before the first line "==== NAME" are a part without a name.
Parts split(std::span<const uint8_t> bytes);
std::string join(const Parts& parts);
// Returns the content of the first part of this name, or null if there is no part of this name.
const std::string* find(const Parts& parts, std::string_view name);

// A new folder in the system's folder for temporary files. The destructor removes it with its contents.
class InputFolder : public linformer_test::TemporaryFolder {
 public:
  // Writes the parts as files. A name must have one or two components of letters, digits, '.', '_' and '-'; parts with
  // other names are left out.
  void write(const Parts& parts) const;
  void write(std::string_view name, std::string_view content) const;
  // Removes everything in the folder except files with these names.
  void clear(std::span<const std::string_view> kept = {}) const;
};

}  // namespace linformer_fuzz
