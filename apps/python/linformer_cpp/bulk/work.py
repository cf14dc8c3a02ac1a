"""Computes units in a worker, with one model for all of them."""
from __future__ import annotations

import functools
import hashlib
import os
import tempfile
import time
import uuid
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.fs as pafs
import pyarrow.parquet as pq

from .. import classifier, embedder, reranker, tagger
from ..model import Model
from .annotator import Annotator
from .reading import batches, footer_of
from .sources import filesystem_of

#: The most rows that are computed in one call.
BATCH_ROWS = 1024

#: A row group of the results ends when it has this number of rows or bytes. A worker has about one group in memory.
GROUP_ROWS = 16384
GROUP_BYTES = 128 << 20

#: The folder for unfinished files in the folder of the results. Readers skip names that begin with an underscore.
TEMPORARY = "_temporary"

TASKS = {"embed": embedder.Embedder, "classify": classifier.Classifier, "rerank": reranker.Reranker,
         "tag": tagger.Tagger}


class UnitError(Exception):
    """A unit can't be computed. The message is one sentence, which the engine passes on to the program."""


@dataclass(frozen=True)
class Settings:
    """The settings that determine the results of a run for given texts."""
    task: str
    model_hash: str
    field: str
    pair_field: str | None
    prefix: str
    options: tuple  # Pairs (name, value) for the task's class.
    call_options: tuple  # Pairs (name, value) for the Annotator.


@dataclass(frozen=True)
class Report:
    """The outcome of a unit. ``bad`` is the number of rows with an error. ``seconds`` is 0 if the file with the unit's
    results already existed."""
    name: str
    rows: int
    bad: int
    seconds: float


@functools.lru_cache(maxsize=4)
def model_hash_of(path):
    """Returns the hash of the bytes of a model file."""
    found = hashlib.blake2b(digest_size=16)
    with open(path, "rb") as file:
        while block := file.read(1 << 22):
            found.update(block)
    return found.hexdigest()


@functools.lru_cache(maxsize=4)
def cached_annotator(settings, model, threads):
    """Returns the annotator for these settings, which is created only once in a process."""
    if model_hash_of(model) != settings.model_hash:
        raise ValueError(f"the model file {model} of this worker differs from the one that the run was started with; "
                         "copy the same file to every machine, or use --send-model")
    task = TASKS[settings.task](Model(model), threads=threads, **dict(settings.options))
    return Annotator(task, settings.field, settings.pair_field, settings.prefix, **dict(settings.call_options))


def save_received_model(read_bytes, model_hash):
    """Saves a model file that was sent with the job in the machine's folder for temporary files. Returns its path.

    ``read_bytes()`` is called only if the file doesn't exist yet. All workers of a machine map the same file.
    """
    path = os.path.join(tempfile.gettempdir(), f"linformer-{model_hash}.lnfr")
    if not os.path.exists(path):
        descriptor, temporary = tempfile.mkstemp(dir=tempfile.gettempdir())
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(read_bytes())
            os.chmod(temporary, 0o644)  # Other users of this machine may read the file.
            os.replace(temporary, path)
        except BaseException:
            os.unlink(temporary)
            raise
    return path


def compute(unit, settings, model, threads, output):
    """Computes a unit and writes its file, which appears complete or not at all. An existing file isn't changed.

    Any worker may compute any unit any number of times. The file always has the same name and the same bytes.
    """
    try:
        return _compute(unit, settings, model, threads, output)
    except Exception as error:  # The process that reads this error may be unable to import the original class.
        raise UnitError(f"{unit.source.path}: {str(error) or type(error).__name__}") from error


def _compute(unit, settings, model, threads, output):
    fs, folder = filesystem_of(output)
    final = f"{folder}/{unit.name}"
    begin = time.monotonic()
    annotate = cached_annotator(settings, model, threads)
    if fs.get_file_info(final).type == pafs.FileType.File:
        return report_of(fs, final, annotate.error_column)
    temporary = f"{folder}/{TEMPORARY}/{unit.name}.{uuid.uuid4().hex}"
    fs.create_dir(f"{folder}/{TEMPORARY}", recursive=True)
    rows = bad = 0
    try:
        schema = annotate.schema(footer_of(unit.source)[1])
        with pq.ParquetWriter(temporary, schema, filesystem=fs, compression="zstd") as writer:
            waiting = []
            for batch in batches(unit.source, unit.first_row, unit.rows, BATCH_ROWS):
                waiting.append(annotate(batch))
                rows += batch.num_rows
                bad += batch.num_rows - waiting[-1].column(annotate.error_column).null_count
                if (sum(part.num_rows for part in waiting) >= GROUP_ROWS or
                        sum(part.nbytes for part in waiting) >= GROUP_BYTES):
                    writer.write_table(pa.Table.from_batches(waiting), GROUP_ROWS)
                    waiting = []
            if waiting:
                writer.write_table(pa.Table.from_batches(waiting), GROUP_ROWS)
        if rows != unit.rows:
            raise ValueError(f"there are {rows} rows from row {unit.first_row} on instead of {unit.rows}, so the file "
                             "has changed since the run began")
        fs.move(temporary, final)
    except BaseException:
        if fs.get_file_info(temporary).type != pafs.FileType.NotFound:
            fs.delete_file(temporary)
        raise
    return Report(unit.name, rows, bad, time.monotonic() - begin)


def report_of(fs, path, error_column):
    """Returns the report of an existing file of results, from its footer."""
    with fs.open_input_file(path) as file:
        metadata = pq.ParquetFile(file).metadata
    bad = 0
    for number in range(metadata.num_row_groups):
        group = metadata.row_group(number)
        for column in map(group.column, range(group.num_columns)):
            if column.path_in_schema == error_column:
                bad += group.num_rows - column.statistics.null_count
    return Report(os.path.basename(path), metadata.num_rows, bad, 0.0)
