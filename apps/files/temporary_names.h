// Files to remove when a signal ends the process.
#pragma once

#include <string>

namespace linformer::files {

// Removes the files of all names that are set. A signal handler may call it: it calls nothing but unlink.
void remove_temporary_files();

// One name that the handlers of SIGINT, SIGTERM, SIGHUP, SIGQUIT and SIGXCPU remove before the signal takes its usual
// course. A signal that is ignored or handled by the program already stays so. Eight at a time in a process; each is
// used by one thread.
class TemporaryName {
 public:
  // Throws WriteError where eight are taken.
  TemporaryName();
  ~TemporaryName();
  TemporaryName(const TemporaryName&) = delete;
  TemporaryName& operator=(const TemporaryName&) = delete;

  // From now on `path` is removed; before the file exists, so that no moment is left out.
  void set(const std::string& path);
  // From now on nothing is removed: the file has its own name, or is gone.
  void clear();

 private:
  int slot_ = -1;
};

}  // namespace linformer::files
