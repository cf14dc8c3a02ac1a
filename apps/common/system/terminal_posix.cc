#include <sys/ioctl.h>
#include <unistd.h>

#include "system/terminal.h"

namespace linformer::system {

bool is_terminal(int descriptor) { return ::isatty(descriptor) == 1; }

int terminal_width(int descriptor, int otherwise) {
  winsize size{};
  return ::ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : otherwise;
}

}  // namespace linformer::system
