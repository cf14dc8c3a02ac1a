"""Other engines beside linformer: the parts of peers.py."""
