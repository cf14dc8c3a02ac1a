// Recognises terminals and measures their width.
#pragma once

namespace linformer::system {

// Returns whether the descriptor is a terminal. Safe to call in a signal handler.
bool is_terminal(int descriptor);
// Returns the terminal's width in columns, or `otherwise` if the descriptor is not a terminal or its width is unknown.
int terminal_width(int descriptor, int otherwise);

}  // namespace linformer::system
