// Removes temporary files if a signal ends the program.
#pragma once

namespace linformer::files {

// Installs handlers of SIGINT, SIGTERM, SIGHUP, SIGQUIT and SIGXCPU that remove the temporary files of outputs
// (temporary_names.h) before the signal has its default effect. A signal that is already ignored or handled is left as
// it is. Call this function once, when the program starts. On Windows it handles Ctrl+C, Ctrl+Break and the closing of
// the console in the same way.
void remove_temporary_files_at_signals();

}  // namespace linformer::files
