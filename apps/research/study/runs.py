"""Executes runs of the study. A run has a name, settings that determine its result, and a file for the result."""
import dataclasses
import json
import pathlib
import time

import torch
import transformers

from linearise.files import write_json
from linearise.job import machine
from linearise.train import Stopped


@dataclasses.dataclass(frozen=True)
class Run:
    """One experiment, which gives one result."""
    group: str         # The group, such as "controls". Each group has a section in RESULTS.md.
    name: str          # The name, which is unique in the group and names the result's file.
    settings: dict     # All numbers and names that determine the result.
    compute: object    # Is called with the settings and a Context. Returns a dict, whose entry "speed" isn't compared.
    needs: tuple = ()  # The names of the runs of the group that must be executed before this one.


@dataclasses.dataclass
class Context:
    """The folders and the device that runs use."""
    data: pathlib.Path       # The folder with the corpora.
    work: pathlib.Path       # A folder for models and tokens, which can be removed.
    results: pathlib.Path    # The folder for the JSON files.
    models: dict             # Maps names to the folders of pretrained models.
    progress: object = None  # A linearise.progress.Progress.
    device: torch.device = torch.device("cpu")

    def file(self, group, name):
        return self.results / group / f"{name}.json"

    def result(self, group, name):
        """Returns the result of a run, or None if it has none."""
        path = self.file(group, name)
        return json.loads(path.read_text(encoding="utf-8")) if path.exists() else None


def is_done(run, context):
    """Returns whether the run has a result that was made with its settings."""
    made = context.result(run.group, run.name)
    return made is not None and made["settings"] == json.loads(json.dumps(run.settings))


def execute(run, context, threads):
    """Computes a run, writes its result to a file, and returns it. The settings have the seed of all random numbers."""
    torch.set_num_threads(threads)
    began = time.monotonic()
    try:
        measured = dict(run.compute(run.settings, context))
    except Stopped:  # The user interrupted the Trainer.
        raise KeyboardInterrupt from None
    speed = measured.pop("speed", None)
    path = context.file(run.group, run.name)
    path.parent.mkdir(parents=True, exist_ok=True)
    value = {"group": run.group, "name": run.name, "command": f"python -m study --run {run.group}/{run.name}",
             "settings": run.settings, "measured": measured, "seconds": round(time.monotonic() - began, 1),
             "threads": threads, "machine": machine(context.device),
             "versions": f"torch {torch.__version__}, transformers {transformers.__version__}"}
    if speed is not None:
        value["speed"] = speed
    write_json(path, value)
    return value
