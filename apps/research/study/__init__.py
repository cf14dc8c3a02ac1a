"""Studies whether a pretrained Transformer can become a Linformer, and whether the paper's claims hold at small scale.

`python -m study --help` shows the command. README.md in this folder describes the experiments.
"""
