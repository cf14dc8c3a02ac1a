"""Turns an existing Transformer encoder into a Linformer, and trains it to agree with the original.

`python -m linearise --help` shows the command. README.md in this folder describes the method and the files.
"""
