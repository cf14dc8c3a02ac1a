"""The modules of peers.py, which times other engines beside linformer."""
