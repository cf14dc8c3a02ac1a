// Terminals.
#pragma once

namespace linformer::system {

// Whether a terminal is behind the descriptor. A signal handler may call it.
bool is_terminal(int descriptor);
// The terminal's width in columns, or `otherwise` where it is none.
int terminal_width(int descriptor, int otherwise);

}  // namespace linformer::system
