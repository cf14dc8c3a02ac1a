"""A run over a dataset: what it shall do, what is done already, and whether all of it is there at the end.

The folder of the results has a Parquet file for each unit, and beside these ``_linformer.json``: the settings, and the
files that were read. A run with the same settings goes on where another one ended; new files in the input are added. A
run with others is refused, because the folder would then have results of both.
"""
from __future__ import annotations

import argparse
import json
import os
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass

import pyarrow.fs as pafs

from ..model import load
from .annotator import ERROR
from .sources import filesystem_of, row_count, sources
from .units import Unit, divided
from .work import TASKS, TEMPORARY, Report, Settings, annotator, content_of, report_of

MANIFEST = "_linformer.json"
SUCCESS = "_SUCCESS"

#: Requests at once to the store that has the files.
_AT_ONCE = 32


def parser(description, epilog):
    """The options that the programs for all engines have."""
    made = argparse.ArgumentParser(description=description, epilog=epilog,
                                   formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("--model", required=True, help="a .lnfr file, or a checkpoint, which is converted first")
    made.add_argument("--dtype", choices=("f32", "bf16", "f16", "int8"), help="of a checkpoint's weights (f32)")
    made.add_argument("--task", required=True, choices=sorted(TASKS))
    made.add_argument("--input", required=True, help="a Parquet file, a folder of them, a Delta or an Iceberg table")
    made.add_argument("--format", default="auto", choices=("auto", "parquet", "delta", "iceberg"))
    made.add_argument("--output", required=True, help="the folder of the results")
    made.add_argument("--field", default="text", help="the column with the texts (text)")
    made.add_argument("--pair", help="the column with second texts")
    made.add_argument("--prefix", default="", help="stands before the names of the added columns")
    made.add_argument("--unit-rows", type=_positive, default=100_000,
                      help="rows that a worker computes and writes at once (100000)")
    made.add_argument("--threads", type=_positive, default=1, help="cores of a worker (1)")
    made.add_argument("--send-model", action="store_true",
                      help="send the model file to the workers; without it each machine has it at the same path")
    made.add_argument("--normalize", action="store_true", help="embed: vectors of the length 1")
    made.add_argument("--prompt", metavar="NAME", help="embed: one of the model's prompts")
    made.add_argument("--dimensions", type=_positive, help="embed: the first numbers of each vector")
    made.add_argument("--head", help="classify, tag, rerank: the head's name")
    made.add_argument("--all-scores", action="store_true", help="classify: the scores of all classes, too")
    made.add_argument("--max-tokens", type=_positive, help="of a text; without it as many as the model reads")
    made.add_argument("--on-long", choices=("truncate", "window", "error"), help="what happens to longer texts")
    return made


def _positive(text):
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"{text} isn't positive")
    return value


@dataclass(frozen=True)
class Job:
    """A run. ``units`` are those that are left, the largest first."""
    settings: Settings
    model: str
    threads: int
    output: str
    units: list[Unit]
    all_units: list[Unit]
    done: int

    @property
    def rows(self):
        """Rows that are left."""
        return sum(unit.rows for unit in self.units)


def settings_of(arguments, model):
    """The settings that the command line gives; one that its task doesn't take is refused."""
    options = {"max_tokens": arguments.max_tokens, "on_long": arguments.on_long, "head": arguments.head}
    calls = {"normalize_embeddings": arguments.normalize, "prompt_name": arguments.prompt,
             "truncate_dim": arguments.dimensions, "all_scores": arguments.all_scores}
    taken = {"embed": {"normalize_embeddings", "prompt_name", "truncate_dim"}, "classify": {"all_scores", "head"},
             "rerank": {"head"}, "tag": {"head"}}[arguments.task] | {"max_tokens", "on_long"}
    flags = {"normalize_embeddings": "--normalize", "prompt_name": "--prompt", "truncate_dim": "--dimensions",
             "all_scores": "--all-scores", "head": "--head"}
    given = {name: value for name, value in {**options, **calls}.items() if value not in (None, False)}
    for name in given:
        if name not in taken:
            raise ValueError(f"--task {arguments.task} has no option {flags[name]}")
    return Settings(arguments.task, content_of(model), arguments.field, arguments.pair, arguments.prefix,
                    tuple((name, value) for name, value in given.items() if name in options),
                    tuple((name, value) for name, value in given.items() if name in calls))


def prepare(arguments) -> Job:
    """Finds the files, checks the settings with the model, and compares both with what the output's folder has."""
    model = load(arguments.model, arguments.dtype).path
    settings = settings_of(arguments, model)
    annotator(settings, model, arguments.threads)  # raises for what the model can't do
    files = sources(arguments.input, arguments.format)
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        counts = list(pool.map(row_count, files))
    units = [unit for file, count in zip(files, counts) for unit in divided(file, count, arguments.unit_rows)]
    output = arguments.output.rstrip("/")
    fs, folder = filesystem_of(output)
    fs.create_dir(folder, recursive=True)
    manifest = {"settings": json.loads(json.dumps(asdict(settings))), "unit_rows": arguments.unit_rows,
                "files": {file.path: [file.size, count] for file, count in zip(files, counts)}}
    _compare(_read(fs, f"{folder}/{MANIFEST}"), manifest, output)
    _write(fs, f"{folder}/{MANIFEST}", json.dumps(manifest, indent=1))
    there = {entry.base_name for entry in fs.get_file_info(pafs.FileSelector(folder)) if entry.is_file}
    _refuse_strangers(there, units, output)
    left = sorted((unit for unit in units if unit.name not in there), key=lambda unit: -unit.rows)
    return Job(settings, model, arguments.threads, output, left, units, len(units) - len(left))


def _compare(before, now, output):
    """Refuses to go on in a folder whose results were made in another way, or of files that have changed."""
    if before is None:
        return
    for name in ("settings", "unit_rows"):
        if before[name] != now[name]:
            old, new = json.dumps(before[name]), json.dumps(now[name])
            raise ValueError(f"{output} has results of other settings ({name}: {old}; now {new}); give another "
                             "--output, or delete that folder")
    for path, about in before["files"].items():
        if now["files"].get(path) != about:
            raise ValueError(f"{output} has results of {path}, which has changed or is gone since; give another "
                             "--output, or delete that folder")


def _refuse_strangers(there, units, output):
    own = {unit.name for unit in units}
    strange = sorted(name for name in there if name.endswith(".parquet") and name not in own)
    if strange:
        raise ValueError(f"{output} has the file {strange[0]}, which isn't this program's; give another --output")


def _read(fs, path):
    if fs.get_file_info(path).type != pafs.FileType.File:
        return None
    with fs.open_input_file(path) as file:
        return json.loads(file.read())


def _write(fs, path, text):
    temporary = f"{path}.new"
    with fs.open_output_stream(temporary) as file:
        file.write(text.encode())
    fs.move(temporary, path)


def finish(job: Job, seconds: float) -> dict:
    """Counts the rows of all results by their footers, and marks the folder as complete."""
    fs, folder = filesystem_of(job.output)
    error = job.settings.prefix + ERROR
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        reports = list(pool.map(lambda unit: report_of(fs, f"{folder}/{unit.name}", error), job.all_units))
    for unit, report in zip(job.all_units, reports):
        if report.rows != unit.rows:
            raise ValueError(f"{job.output}/{unit.name} has {report.rows} rows in the place of {unit.rows}; delete it "
                             "and run the program again")
    if fs.get_file_info(f"{folder}/{TEMPORARY}").type == pafs.FileType.Directory:
        fs.delete_dir(f"{folder}/{TEMPORARY}")  # files of workers that were killed
    summary = {"files": len(job.all_units), "rows": sum(report.rows for report in reports),
               "bad": sum(report.bad for report in reports), "computed_rows": job.rows, "seconds": round(seconds, 3),
               "rows_per_second": round(job.rows / seconds, 1) if seconds > 0 else None}
    _write(fs, f"{folder}/{SUCCESS}", json.dumps(summary))
    return summary


class Progress:
    """A line on standard error now and then: on a terminal it is rewritten, in a log there is one each minute."""

    def __init__(self, job: Job):
        self._job, self._begin, self._shown = job, time.monotonic(), 0.0
        self._terminal = sys.stderr.isatty()
        self._units = self._rows = self._bad = 0
        if job.done:
            print(f"{job.done} of {len(job.all_units)} files are there already", file=sys.stderr)

    @property
    def seconds(self):
        return time.monotonic() - self._begin

    def add(self, report: Report):
        self.show(self._units + 1, self._rows + report.rows, self._bad + report.bad)

    def show(self, units, rows, bad):
        """What was done in this run so far."""
        self._units, self._rows, self._bad = units, rows, bad
        last = units == len(self._job.units)
        if not last and self.seconds - self._shown < (0.5 if self._terminal else 60):
            return
        self._shown = self.seconds
        rate = rows / max(self.seconds, 1e-9)
        left = (self._job.rows - rows) / rate if rows else 0
        text = (f"{units} of {len(self._job.units)} files, {rows:,} of {self._job.rows:,} texts, {rate:,.0f} texts/s, "
                f"{bad:,} bad, {left:,.0f} s left")
        print(f"\r{text}\033[K" if self._terminal else text, end="\n" if last or not self._terminal else "",
              file=sys.stderr, flush=True)


def run(main):
    """Ends a program with one line for an error that the user can mend."""
    try:
        main()
    except (ValueError, OSError, ImportError) as error:
        program = os.path.basename(sys.argv[0])
        print(f"{program}: {error}", file=sys.stderr)
        sys.exit(1)
