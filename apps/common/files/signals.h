// Removes temporary files if a signal ends the program.
#pragma once

namespace linformer::files {

// Installs handlers of SIGINT, SIGTERM, SIGHUP, SIGQUIT and SIGXCPU that remove the temporary files of outputs
// (temporary_names.h) before the signal takes its usual course. A signal that is ignored or handled already stays so.
// Call it once, when the program starts. On Windows the same happens before a console's Ctrl+C, Ctrl+Break and closing.
void remove_temporary_files_at_signals();

}  // namespace linformer::files
