#include <signal.h>

#include "files/interrupted.h"
#include "files/signals.h"
#include "files/temporary_names.h"

namespace linformer::files {
namespace {

void remove_all(int number) {
  const bool unfinished = remove_temporary_files();
  if (number == SIGINT || number == SIGTERM) report_interruption(unfinished);
  // The signal is blocked while this handler runs, so its default effect follows when the handler returns.
  ::signal(number, SIG_DFL);
  ::raise(number);
}

}  // namespace

void remove_temporary_files_at_signals() {
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGXCPU}) {
    struct sigaction action {};
    if (::sigaction(number, nullptr, &action) != 0 || (action.sa_flags & SA_SIGINFO) != 0) continue;
    if (action.sa_handler != SIG_DFL) continue;
    action.sa_handler = remove_all;
    ::sigaction(number, &action, nullptr);
  }
}

}  // namespace linformer::files
