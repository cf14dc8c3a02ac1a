"""Runs the programs linformer and linformer-convert, which measure speed and make model files."""
import json
import os
import pathlib
import shutil
import subprocess

from linearise.errors import UserError


def find(name):
    """Returns the path of a program in the folders of LINFORMER_CPP_PROGRAMS or on the PATH, or None if it isn't
    found."""
    for place in os.environ.get("LINFORMER_CPP_PROGRAMS", "").split(os.pathsep):
        path = pathlib.Path(place) / name
        if place and path.is_file():
            return str(path)
    return shutil.which(name)


def available():
    return find("linformer") is not None and find("linformer-convert") is not None


def run(name, *arguments):
    """Runs a program and returns its output. If the program fails, raises UserError with its first error line."""
    path = find(name)
    if path is None:
        raise UserError(f"the program {name} is not on the PATH: install it, or set LINFORMER_CPP_PROGRAMS to its "
                        "folder.")
    done = subprocess.run([path, *map(str, arguments)], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        lines = done.stderr.strip().splitlines() or [f"exit status {done.returncode}"]
        raise UserError(f"{name} failed: {lines[0]}")
    return done.stdout


def convert(folder, file, dtype="f32"):
    options = [] if dtype == "f32" else ["--dtype", dtype]
    run("linformer-convert", folder, "-o", file, *options)


def bench(file, length, threads, seconds):
    """Returns the median time in ms of one text of `length` tokens, and the bytes of the arena."""
    made = json.loads(run("linformer", "bench", file, "--n", length, "--threads", threads, "--seconds", seconds,
                          "--json", "--quiet"))
    result = made["results"][0]
    return {"ms": result["median_ms"], "arena_bytes": result["arena_bytes"]}
