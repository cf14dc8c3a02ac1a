// This program once more, as a child.
#pragma once

#include <string>
#include <vector>

namespace linformer::system {

struct ChildOutput {
  std::string text;  // that it wrote to standard output
  int signal = 0;    // that ended it; 0: none did, or the system has none
};
// Runs this program with `arguments` behind its name until it ends. Throws std::runtime_error where the system refuses.
ChildOutput output_of_own_child(const std::vector<std::string>& arguments);
// For the child: whoever ends its parent ends it too, where the system can do that.
void end_with_parent();

}  // namespace linformer::system
