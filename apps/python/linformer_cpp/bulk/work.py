"""What a worker does: it computes units, with one model for all of them."""
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
from .annotator import ERROR, Annotator
from .sources import batches, filesystem_of, schema_of

#: Rows that are answered at once.
BATCH_ROWS = 1024

#: Rows of a row group in the results.
GROUP_ROWS = 16384

#: The folder of unfinished files, below that of the results; readers leave out names with an underscore.
TEMPORARY = "_temporary"

TASKS = {"embed": embedder.Embedder, "classify": classifier.Classifier, "rerank": reranker.Reranker,
         "tag": tagger.Tagger}


@dataclass(frozen=True)
class Settings:
    """What decides the results of a run. ``content`` is a hash of the model file, which workers compare."""
    task: str
    content: str
    field: str
    pair_field: str | None
    prefix: str
    options: tuple  # pairs, for the task's class
    call_options: tuple  # pairs, for the Annotator


@dataclass(frozen=True)
class Report:
    """What became of a unit. ``seconds`` is 0 where its file was there already."""
    name: str
    rows: int
    bad: int
    seconds: float


@functools.lru_cache(maxsize=4)
def content_of(path):
    """The hash of a model file."""
    found = hashlib.blake2b(digest_size=16)
    with open(path, "rb") as file:
        while block := file.read(1 << 22):
            found.update(block)
    return found.hexdigest()


@functools.lru_cache(maxsize=4)
def annotator(settings, model, threads):
    """The annotator of a process, which is made once."""
    if content_of(model) != settings.content:
        raise ValueError(f"the model file {model} of this worker has other content than that of the program that began "
                         "the run; copy the same file to every machine, or use --send-model")
    task = TASKS[settings.task](Model(model), threads=threads, **dict(settings.options))
    return Annotator(task, settings.field, settings.pair_field, settings.prefix, **dict(settings.call_options))


def received(content, name):
    """Keeps a model file that came with the job in this machine's folder for temporary files, and returns its path.

    ``content`` is called for the bytes where the file isn't there. All workers of a machine map the same file.
    """
    path = os.path.join(tempfile.gettempdir(), f"linformer-{name}.lnfr")
    if not os.path.exists(path):
        descriptor, temporary = tempfile.mkstemp(dir=tempfile.gettempdir())
        with os.fdopen(descriptor, "wb") as file:
            file.write(content())
        os.replace(temporary, path)
    return path


def compute(unit, settings, model, threads, output):
    """Computes a unit and writes its file, which appears complete or not at all. A file that is there is left alone.

    Any worker may compute any unit any number of times: the file has the same name and the same bytes.
    """
    fs, folder = filesystem_of(output)
    final = f"{folder}/{unit.name}"
    if fs.get_file_info(final).type == pafs.FileType.File:
        return report_of(fs, final, settings.prefix + ERROR)
    begin = time.monotonic()
    annotate = annotator(settings, model, threads)
    temporary = f"{folder}/{TEMPORARY}/{unit.name}.{uuid.uuid4().hex}"
    fs.create_dir(f"{folder}/{TEMPORARY}", recursive=True)
    rows = bad = 0
    try:
        with pq.ParquetWriter(temporary, annotate.schema(schema_of(unit.source)), filesystem=fs,
                              compression="zstd") as writer:
            waiting = []
            for batch in batches(unit.source, unit.first_row, unit.rows, BATCH_ROWS):
                waiting.append(annotate(batch))
                rows += batch.num_rows
                bad += batch.num_rows - waiting[-1].column(settings.prefix + ERROR).null_count
                if sum(part.num_rows for part in waiting) >= GROUP_ROWS:
                    writer.write_table(pa.Table.from_batches(waiting), GROUP_ROWS)
                    waiting = []
            if waiting:
                writer.write_table(pa.Table.from_batches(waiting), GROUP_ROWS)
        if rows != unit.rows:
            raise ValueError(f"{unit.source.path} has {rows} rows from row {unit.first_row} on, and {unit.rows} were "
                             "planned: it has changed since the run began")
        fs.move(temporary, final)
    except BaseException:
        if fs.get_file_info(temporary).type != pafs.FileType.NotFound:
            fs.delete_file(temporary)
        raise
    return Report(unit.name, rows, bad, time.monotonic() - begin)


def report_of(fs, path, error_column):
    """The report of a file that is there, from its footer."""
    with fs.open_input_file(path) as file:
        metadata = pq.ParquetFile(file).metadata
    bad = 0
    for number in range(metadata.num_row_groups):
        group = metadata.row_group(number)
        for column in map(group.column, range(group.num_columns)):
            if column.path_in_schema == error_column:
                bad += group.num_rows - column.statistics.null_count
    return Report(os.path.basename(path), metadata.num_rows, bad, 0.0)
