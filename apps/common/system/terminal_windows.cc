#include <io.h>
#include <windows.h>

#include "system/terminal.h"

namespace linformer::system {
namespace {

HANDLE console_of(int descriptor) { return reinterpret_cast<HANDLE>(::_get_osfhandle(descriptor)); }

}  // namespace

// Doesn't use the C library's isatty(), because isatty() is also true for the device NUL.
bool is_terminal(int descriptor) {
  DWORD mode = 0;
  return ::GetConsoleMode(console_of(descriptor), &mode) != 0;
}

int terminal_width(int descriptor, int otherwise) {
  CONSOLE_SCREEN_BUFFER_INFO facts{};
  if (::GetConsoleScreenBufferInfo(console_of(descriptor), &facts) == 0) return otherwise;
  const int width = facts.srWindow.Right - facts.srWindow.Left + 1;
  return width > 0 ? width : otherwise;
}

}  // namespace linformer::system
