"""Runs of the study: each has a name, settings that decide it, and a result in a file of its own."""
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
    """group: the table that it belongs to. name: unique in the group, and the name of its file. settings: numbers and
    names, from which `compute` makes the result alone. needs: names of runs of the group that come first."""
    group: str
    name: str
    settings: dict
    compute: object  # called with the settings and a Context; returns a dict, whose entry "speed" is not compared
    needs: tuple = ()


@dataclasses.dataclass
class Context:
    """data: the folder with the corpora. work: for models and tokens, which can be removed. results: of the JSON files.
    models: name -> folder of a pretrained model. progress: a linearise Progress."""
    data: pathlib.Path
    work: pathlib.Path
    results: pathlib.Path
    models: dict
    progress: object = None
    device: torch.device = torch.device("cpu")

    def file(self, group, name):
        return self.results / group / f"{name}.json"

    def result(self, group, name):
        """Returns the result of a run, or None."""
        path = self.file(group, name)
        return json.loads(path.read_text(encoding="utf-8")) if path.exists() else None


def is_done(run, context):
    """Whether the result was made with these settings."""
    made = context.result(run.group, run.name)
    return made is not None and made["settings"] == json.loads(json.dumps(run.settings))


def execute(run, context, threads):
    """Computes a run and writes its result. The seed of everything is in the settings."""
    torch.set_num_threads(threads)
    began = time.monotonic()
    try:
        measured = dict(run.compute(run.settings, context))
    except Stopped:  # Trainer ends so when the user interrupts it
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
