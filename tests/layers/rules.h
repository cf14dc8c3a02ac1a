// The rules that the source tree keeps, as functions from text to findings.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace linformer_test {

struct Finding {
  std::string file;  // relative to the tree's root
  int line = 0;
  std::string message;
};
using Findings = std::vector<Finding>;

// C++ source with comments, string and character literals replaced by spaces; lines stay where they are.
std::string without_comments_and_literals(const std::string& source);

// A runtime file includes only its own layer, lower ones, and the libraries that its layer may know.
// `file` is relative to runtime/, e.g. "kernels/gemm.cc".
Findings check_includes(const std::string& file, const std::string& source);
// Headers of the operating system are included by base/platform_*.cc alone.
Findings check_system(const std::string& file, const std::string& source);
// The runtime prints nothing, ends no process, throws nothing and touches no process-wide setting.
Findings check_calls(const std::string& file, const std::string& source);
// The runtime's lists are Array and String, whose growth is checked; its objects are made by new (std::nothrow).
Findings check_containers(const std::string& file, const std::string& source);
// target_link_libraries() of a layer names only lower layers.
Findings check_links(const std::string& file, const std::string& cmake);
// A file of the program `linformer` includes only its own room of apps/ and lower ones. `file` is relative to the root.
Findings check_rooms(const std::string& file, const std::string& source);
// A folder of apps or converter holds few enough files to be read at a glance.
Findings check_folder(const std::string& folder, int files);
// No path of somebody's machine, no host of a package registry.
Findings check_machine_paths(const std::string& file, const std::string& text);
// Tests make temporary folders with support/temporary_folder.h alone. `file` is relative to the root.
Findings check_temporary_files(const std::string& file, const std::string& source);
// Longer than 400 lines: a hint, not an error.
Findings check_length(const std::string& file, const std::string& text);

struct Report {
  Findings errors;
  Findings warnings;
  int runtime_files = 0;
  int files = 0;
  int room_files = 0;  // whose includes check_rooms() has seen
};
// All rules over the tree below `root`.
Report check_tree(const std::filesystem::path& root);

}  // namespace linformer_test
