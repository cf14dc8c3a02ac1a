"""Runs linformer's programs."""
import json
import os
import sys

from .common import UserError, run

NAME = "linformer.cpp"


class Programs:
    """linformer and linformer-convert in a build folder, or in a folder in which they are installed."""

    def __init__(self, folder):
        self.linformer = self.find(folder, "linformer", "apps/cli")
        self.converter = self.find(folder, "linformer-convert", "apps/convert")

    @staticmethod
    def find(folder, name, inside):
        if not os.path.isdir(folder):
            raise UserError(f"{folder} is no folder: --linformer names a build folder, such as build/release")
        for place in (inside, "bin", "."):
            path = os.path.join(folder, place, name)
            if os.access(path, os.X_OK) and os.path.isfile(path):
                return os.path.abspath(path)
        raise UserError(f"{folder} has no program {name}: --linformer names a build folder, such as build/release")

    def version(self):
        return run([self.linformer, "--version"], "linformer --version").strip().split()[-1]

    def convert(self, checkpoint, model, dtype, settings=None):
        command = [self.converter, checkpoint, "-o", model, "--dtype", dtype, "--quiet"]
        if settings:
            path = model + ".json"
            with open(path, "w", encoding="utf-8") as file:
                json.dump(settings, file)
            command += ["--config", path]
        run(command, f"linformer-convert --dtype {dtype}")

    def bench(self, model, n, threads, seconds):
        """Returns the result of `linformer bench` for one case, and the machine's limits."""
        text = run([self.linformer, "bench", model, "--n", n, "--threads", threads, "--seconds", seconds, "--json"],
                   "linformer bench")
        try:
            said = json.loads(text)
            result = said["results"][0]
            if "error" in result:
                raise UserError(f"linformer bench: {result['error']}")
            return result, said.get("limits", {})
        except (ValueError, KeyError, IndexError) as error:
            raise UserError("the output of linformer bench --json is not as expected: build linformer from the sources "
                            "that this peers.py belongs to") from error

    def encode(self, model, ids, out, threads):
        run([self.linformer, "encode", model, "--ids", ids, "--what", "hidden", "-o", out, "--threads", threads],
            "linformer encode")


class Process:
    """Runs a process of linformer, and measures its time and its peak memory."""

    def __init__(self, command):
        # A small process starts linformer, because the kernel counts the parent's memory at the fork as the child's.
        launcher = os.path.join(os.path.dirname(os.path.abspath(__file__)), "launch.py")
        what = " ".join(str(part) for part in command[1:2])
        said = run([sys.executable, "-I", "-S", launcher, *command], f"linformer {what}")
        measured = json.loads(said)
        self.seconds, self.peak_mb = measured["seconds"], measured["peak_mb"]
