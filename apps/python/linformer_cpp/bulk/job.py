"""Plans a run over a dataset, finds the finished units, and checks at the end that no result is missing.

The folder of the results has a Parquet file for each unit, and ``_linformer.json`` with the settings and the input
files. A run with the same settings continues an earlier one, and adds new input files. A run with other settings is
refused, because the folder would then contain two kinds of results.
"""
from __future__ import annotations

import json
import os
import re
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass

import pyarrow as pa
import pyarrow.fs as pafs

from ..errors import LinformerError
from ..model import load
from .options import settings_of
from .reading import footer_of
from .sources import filesystem_of, is_hidden, sources
from .units import Unit, divided
from .work import TEMPORARY, Report, Settings, UnitError, cached_annotator, report_of

MANIFEST = "_linformer.json"
SUCCESS = "_SUCCESS"

#: The most parallel requests to the storage.
MAX_STORAGE_REQUESTS = 32


@dataclass(frozen=True)
class Job:
    """A run. ``units`` are the unfinished units, the largest first. ``done`` is the number of the finished units."""
    settings: Settings
    model: str
    threads: int
    output: str
    units: list[Unit]
    all_units: list[Unit]
    done: int

    @property
    def rows(self):
        """The number of rows of the unfinished units."""
        return sum(unit.rows for unit in self.units)


def prepare(arguments) -> Job:
    """Finds the input files, checks the settings with the model, and compares both with the manifest in the output
    folder. Creates the folder and writes the manifest."""
    model = os.path.abspath(load(arguments.model, arguments.dtype).path)
    settings = settings_of(arguments, model)
    annotate = cached_annotator(settings, model, arguments.threads)  # Raises an error if the model can't do the task.
    files = sources(_absolute(arguments.input), arguments.format)
    counts = check_files(files, annotate)
    units = [unit for file, count in zip(files, counts) for unit in divided(file, count, arguments.unit_rows)]
    output = _absolute(arguments.output).rstrip("/")
    fs, folder = filesystem_of(output)
    _check_place(folder, files, arguments.input)
    fs.create_dir(folder, recursive=True)
    manifest = {"settings": json.loads(json.dumps(asdict(settings))), "unit_rows": arguments.unit_rows,
                "input_files": {file.path: [file.size, file.modified, count] for file, count in zip(files, counts)}}
    _compare(_read(fs, f"{folder}/{MANIFEST}"), manifest, output)
    existing_names = {entry.base_name for entry in fs.get_file_info(pafs.FileSelector(folder)) if entry.is_file}
    _refuse_foreign_files(existing_names, units, output)
    unfinished = sorted((unit for unit in units if unit.name not in existing_names), key=lambda unit: -unit.rows)
    _write(fs, f"{folder}/{MANIFEST}", json.dumps(manifest, indent=1))
    if unfinished and SUCCESS in existing_names:
        fs.delete_file(f"{folder}/{SUCCESS}")
    return Job(settings, model, arguments.threads, output, unfinished, units, len(units) - len(unfinished))


def _check_place(folder, files, address):
    """Raises ValueError if this run or the next one would read the folder of the results as input."""
    if any(file.path.startswith(f"{folder}/") for file in files):
        raise ValueError(f"the output folder {folder} contains files of the input; give another --output")
    root = filesystem_of(_absolute(address))[1].rstrip("/")
    below = folder[len(root):] if folder.startswith(f"{root}/") else ""
    if below and not is_hidden(below):
        raise ValueError(f"the output folder {folder} lies below the input {root}, so a second run would read it; give "
                         "another --output, or a name that begins with _")


def _absolute(address):
    """Returns an absolute path, because workers may run in another folder than the program. Keeps other addresses."""
    return address if "://" in address else os.path.abspath(address)


def check_files(files, annotate):
    """Returns the number of rows of each file. Raises ValueError for a file without the columns that the task reads."""
    with ThreadPoolExecutor(MAX_STORAGE_REQUESTS) as pool:
        footers = list(pool.map(footer_of, files))
    for file, (_, schema) in zip(files, footers):
        for name in filter(None, (annotate.field, annotate.pair_field)):
            if name not in schema.names:
                raise ValueError(f"{file.path} has no column {name!r}; its columns are {', '.join(schema.names)}")
            type_ = schema.field(name).type
            if not _is_text(type_.value_type if pa.types.is_dictionary(type_) else type_):
                raise ValueError(f"the column {name!r} of {file.path} has values of the type {type_}, and not texts")
        annotate.schema(schema)
    return [count for count, _ in footers]


def _is_text(type_):
    return str(type_) in ("string", "large_string", "string_view", "null")


def _compare(before, now, output):
    """Raises ValueError if the folder's results were made with other settings, or of input files that have changed."""
    if before is None:
        return
    for name in ("settings", "unit_rows"):
        if before[name] != now[name]:
            old, new = json.dumps(before[name]), json.dumps(now[name])
            raise ValueError(f"{output} has results with other settings ({name} was {old} and is now {new}); give "
                             "another --output, or delete that folder")
    for path, about in before["input_files"].items():
        if now["input_files"].get(path) != about:
            raise ValueError(f"{output} has results of {path}, which has been changed or deleted since; give another "
                             "--output, or delete that folder")


def _refuse_foreign_files(existing_names, units, output):
    own = {unit.name for unit in units}
    foreign = sorted(name for name in existing_names if name.endswith(".parquet") and name not in own)
    if foreign:
        raise ValueError(f"{output} contains {foreign[0]}, which this run does not write; give another --output")


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
    """Counts the rows of all results by their footers, and marks the folder as complete. Returns a summary."""
    fs, folder = filesystem_of(job.output)
    error_column = cached_annotator(job.settings, job.model, job.threads).error_column
    with ThreadPoolExecutor(MAX_STORAGE_REQUESTS) as pool:
        reports = list(pool.map(lambda unit: report_of(fs, f"{folder}/{unit.name}", error_column), job.all_units))
    for unit, report in zip(job.all_units, reports):
        if report.rows != unit.rows:
            raise ValueError(f"{job.output}/{unit.name} has {report.rows} rows instead of {unit.rows}; delete it and "
                             "run the program again")
    if fs.get_file_info(f"{folder}/{TEMPORARY}").type == pafs.FileType.Directory:
        fs.delete_dir(f"{folder}/{TEMPORARY}")  # It may have files of workers that were killed.
    summary = {"output_files": len(job.all_units), "rows": sum(report.rows for report in reports),
               "bad": sum(report.bad for report in reports), "computed_rows": job.rows, "seconds": round(seconds, 3),
               "rows_per_second": round(job.rows / seconds, 1) if seconds > 0 else None}
    _write(fs, f"{folder}/{SUCCESS}", json.dumps(summary))
    return summary


class Progress:
    """Prints progress on standard error. On a terminal it rewrites one line, and in a log it adds a line each
    minute."""

    def __init__(self, job: Job):
        self._job, self._begin, self._shown = job, time.monotonic(), 0.0
        self._terminal = sys.stderr.isatty()
        self._units = self._rows = self._bad = 0
        if job.done:
            print(f"{job.done} of {len(job.all_units)} units were finished by an earlier run", file=sys.stderr)

    @property
    def seconds(self):
        return time.monotonic() - self._begin

    def add(self, report: Report):
        self.show(self._units + 1, self._rows + report.rows, self._bad + report.bad)

    def show(self, units, rows, bad):
        """Shows how many units, rows and bad rows this run has finished."""
        self._units, self._rows, self._bad = units, rows, bad
        last = units == len(self._job.units)
        if not last and self.seconds - self._shown < (0.5 if self._terminal else 60):
            return
        self._shown = self.seconds
        rate = rows / max(self.seconds, 1e-9)
        left = (self._job.rows - rows) / rate if rows else 0
        text = (f"{units} of {len(self._job.units)} units, {rows:,} of {self._job.rows:,} texts, {rate:,.0f} texts/s, "
                f"{bad:,} bad, {left:,.0f} s left")
        print(f"\r{text}\033[K" if self._terminal else text, end="\n" if last or not self._terminal else "",
              file=sys.stderr, flush=True)


#: The libraries whose errors are printed as one line, because the input or a worker causes them.
_ENGINES = ("deltalake", "pyiceberg", "pyarrow", "pyspark", "py4j", "ray", "_internal")


def run(main):
    """Runs a program. An error that the user can correct is printed as one line, without a traceback."""
    try:
        main()
    except Exception as error:
        known = isinstance(error, (ValueError, OSError, ImportError, LinformerError))
        if not known and type(error).__module__.split(".")[0] not in _ENGINES:
            raise
        print(f"{os.path.basename(sys.argv[0])}: {_message(error)}", file=sys.stderr)
        sys.exit(1)


def _message(error):
    """Returns the message of a worker's UnitError, which engines put among the lines of their own errors. If there is
    none, returns the last line."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()] or [type(error).__name__]
    for line in lines:
        found = re.search(rf"\b{UnitError.__name__}: (.*)", line)
        if found:
            return found.group(1)
    return lines[-1]
