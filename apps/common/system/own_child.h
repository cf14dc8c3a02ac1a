// Runs this program again as a child process.
#pragma once

#include <string>
#include <vector>

namespace linformer::system {

struct ChildOutput {
  std::string text;  // that it wrote to standard output
  int signal = 0;    // that ended it; 0: none did, or the system has none
};
// Starts this program as a child with the given arguments and waits until it ends. Throws std::runtime_error if the
// system can't make a pipe or a process.
ChildOutput output_of_own_child(const std::vector<std::string>& arguments);
// The child calls this, so that it ends when its parent is killed. It has no effect on systems that lack such a call.
void end_with_parent();

}  // namespace linformer::system
