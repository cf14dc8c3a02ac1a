// A folder of files as one input: parts, each after a line "==== NAME". And a folder of the disk to put them into.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

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
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  std::string path(std::string_view name) const { return (folder_ / name).string(); }
  // Writes parts as files; names are one or two components of letters, digits, '.', '_' and '-'. Others are left out.
  void write(const Parts& parts) const;
  void write(std::string_view name, std::string_view content) const;
  // Removes everything but files with these names.
  void clear(std::span<const std::string_view> kept = {}) const;

 private:
  std::filesystem::path folder_;
};

}  // namespace linformer_fuzz
