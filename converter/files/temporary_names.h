// The names of the temporary files that are being written, so that the signal handler of a program can remove the files
// before a signal ends the process. This library installs no signal handler.
#pragma once

#include <string>

namespace linformer::files {

// Removes the files of all names that are set. Returns whether any name was set. A signal handler may call it: its only
// system call is the one that removes a file.
bool remove_temporary_files();

// The name of a file that remove_temporary_files() removes. A process may have at most eight of these objects at a
// time. Only one thread may use an object.
class TemporaryName {
 public:
  // Throws WriteError if the process already has eight objects.
  TemporaryName();
  ~TemporaryName();
  TemporaryName(const TemporaryName&) = delete;
  TemporaryName& operator=(const TemporaryName&) = delete;

  // Sets the name. The caller must do so before it creates the file, so that a signal at any time finds the name.
  void set(const std::string& path);
  // Forgets the name. The caller must do so after the file was renamed or removed.
  void clear();

 private:
  int slot_ = -1;
};

}  // namespace linformer::files
