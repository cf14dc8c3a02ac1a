// A folder of files as one input: parts, each after a line "==== NAME". And a folder of the disk to put them into.
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

// What comes before the first such line is a part without a name.
Parts split(std::span<const uint8_t> bytes);
std::string join(const Parts& parts);
// The content of the first part of this name; null: there is none.
const std::string* find(const Parts& parts, std::string_view name);
uint64_t bytes_of(const Parts& parts);

// A folder of its own below the system's for temporary files; removed with all that is in it.
class InputFolder : public linformer_test::TemporaryFolder {
 public:
  // Writes parts as files; names are one or two components of letters, digits, '.', '_' and '-'. Others are left out.
  void write(const Parts& parts) const;
  void write(std::string_view name, std::string_view content) const;
  // Removes everything but files with these names.
  void clear(std::span<const std::string_view> kept = {}) const;
};

}  // namespace linformer_fuzz
