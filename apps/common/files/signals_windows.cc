#include <windows.h>

#include "files/interrupted.h"
#include "files/signals.h"
#include "files/temporary_names.h"

namespace linformer::files {
namespace {

// Handles Ctrl+C, Ctrl+Break, the closing of the console and the end of the user's session. Windows calls it in a
// separate thread.
BOOL WINAPI remove_all(DWORD event) {
  const bool unfinished = remove_temporary_files();
  if (event == CTRL_C_EVENT || event == CTRL_BREAK_EVENT) report_interruption(unfinished);
  return FALSE;  // Windows then calls the default handler, which ends the process.
}

}  // namespace

void remove_temporary_files_at_signals() { ::SetConsoleCtrlHandler(remove_all, TRUE); }

}  // namespace linformer::files
