"""The study: can a pretrained Transformer become a Linformer, and do the paper's claims hold at small scale?

`python -m study --help` shows the command. README.md in this folder describes the experiments.
"""
