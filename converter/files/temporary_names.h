// Names of the temporary files that are being written. A program whose process a signal may end removes them in its
// handler; this library installs none.
#pragma once

#include <string>

namespace linformer::files {

// Removes the files of all names that are set. Returns whether there was one. A signal handler may call it: it calls
// nothing but unlink.
bool remove_temporary_files();

// One name that remove_temporary_files() removes. Eight at a time in a process; each is used by one thread.
class TemporaryName {
 public:
  // Throws WriteError where eight are taken.
  TemporaryName();
  ~TemporaryName();
  TemporaryName(const TemporaryName&) = delete;
  TemporaryName& operator=(const TemporaryName&) = delete;

  // From now on `path` counts; before the file exists, so that no moment is left out.
  void set(const std::string& path);
  // From now on it doesn't: the file has its own name, or is gone.
  void clear();

 private:
  int slot_ = -1;
};

}  // namespace linformer::files
