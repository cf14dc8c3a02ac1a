// Checks the rules of the source tree. Each function check_...() checks one rule, which its comment states, and returns
// the violations in one file. check_tree() applies all of them.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace linformer_test {

struct Finding {
  std::string file;  // The path from the root of the tree.
  int line = 0;
  std::string message;
};
using Findings = std::vector<Finding>;

// Returns C++ source with comments, strings and character literals replaced by spaces. Line numbers stay the same.
std::string without_comments_and_literals(const std::string& source);

// A file of the runtime may include only its own layer, lower layers, and the third-party libraries permitted for its
// layer. `file` is relative to runtime/, e.g. "kernels/gemm.cc".
Findings check_includes(const std::string& file, const std::string& source);
// Only base/platform_*.cc may include headers of the operating system.
Findings check_system_includes(const std::string& file, const std::string& source);
// The runtime may not print, throw, end the process or change settings of the whole process.
Findings check_forbidden_calls(const std::string& file, const std::string& source);
// The runtime must use Array and String, which return an error if memory runs out, and new (std::nothrow).
Findings check_containers(const std::string& file, const std::string& source);
// target_link_libraries() of a layer may name only lower layers.
Findings check_links(const std::string& file, const std::string& cmake);
// A file of the program `linformer` may include only its own room (folder) of apps/ and lower rooms. `file` is relative
// to the root.
Findings check_program_includes(const std::string& file, const std::string& source);
// A folder of apps or converter may have at most 25 files, except the folders in apps/research/study/results.
Findings check_file_count(const std::string& folder, int files);
// No file may contain a path of a particular machine or the host of a package registry.
Findings check_machine_paths(const std::string& file, const std::string& text);
// Tests may make temporary folders only with support/temporary_folder.h. `file` is relative to the root.
Findings check_temporary_files(const std::string& file, const std::string& source);
// Reports a file of more than 400 lines. This is a warning and not an error.
Findings check_length(const std::string& file, const std::string& text);

struct Report {
  Findings errors;
  Findings warnings;
  int runtime_files = 0;
  int files = 0;
  int program_files = 0;  // The number of files that check_program_includes() has checked.
};
// Applies all rules to the tree below `root`.
Report check_tree(const std::filesystem::path& root);

}  // namespace linformer_test
