"""The modules of peers.py, which compares the times of linformer and of other engines."""
