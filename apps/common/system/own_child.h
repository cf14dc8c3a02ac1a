// Runs this program again as a child process.
#pragma once

#include <string>
#include <vector>

namespace linformer::system {

struct ChildOutput {
  std::string text;  // The text that the child wrote to standard output.
  int signal = 0;    // The signal that ended the child; 0 if it exited by itself, and always 0 on Windows.
};
// Starts this program as a child with the given arguments and waits until it ends. Throws std::runtime_error if the
// system can't make a pipe or a process.
ChildOutput output_of_own_child(const std::vector<std::string>& arguments);
// Asks the system to kill this process when its parent ends. The child process calls this function. It has an effect
// only on Linux. On Windows the parent arranges the same when it starts the child.
void end_with_parent();

}  // namespace linformer::system
