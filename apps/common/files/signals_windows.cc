#include <windows.h>

#include "files/interrupted.h"
#include "files/signals.h"
#include "files/temporary_names.h"

namespace linformer::files {
namespace {

// Ctrl+C, Ctrl+Break, a console that is closed, and the end of the session. Windows calls it in a thread of its own.
BOOL WINAPI remove_all(DWORD event) {
  const bool unfinished = remove_temporary_files();
  if (event == CTRL_C_EVENT || event == CTRL_BREAK_EVENT) report_interruption(unfinished);
  return FALSE;  // the usual course: the process ends
}

}  // namespace

void remove_temporary_files_at_signals() { ::SetConsoleCtrlHandler(remove_all, TRUE); }

}  // namespace linformer::files
