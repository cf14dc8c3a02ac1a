"""Imports transformers, offline and quiet, and runs the compared programs, for the comparisons with transformers."""

import json
import os
import pathlib
import subprocess
import sys

os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["TRANSFORMERS_VERBOSITY"] = "error"

SKIPPED = 77  # The exit code of a test that ctest counts as skipped.


class Failure(Exception):
    pass


def imported(exit_code=0):
    """Returns NumPy, torch and transformers of this Python or of the one that apps/bench/peers.py made. Without them
    the script prints "skipped" and ends."""
    try:
        import numpy
        import torch
        import transformers
    except ImportError as missing:
        peers = pathlib.Path.home() / ".cache/linformer-peers/bin/python"
        if peers.exists() and pathlib.Path(sys.executable) != peers:
            os.execv(peers, [str(peers)] + sys.argv)
        print(f"skipped: {missing}")
        sys.exit(exit_code)
    transformers.utils.logging.disable_progress_bar()
    return numpy, torch, transformers


def run(*command):
    """Returns what the program prints. Raises Failure with its error if it fails."""
    command = [str(part) for part in command]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise Failure(f"{pathlib.Path(command[0]).name}: {done.stderr.strip()}")
    return done.stdout


def convert(program, source, output, *options):
    """Converts the checkpoint `source` to the model file `output`, and returns `output`."""
    run(program, source, "-o", output, "--force", "--quiet", *options)
    return output


def json_lines(*command):
    return [json.loads(line) for line in run(*command).splitlines()]
