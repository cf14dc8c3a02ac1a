"""The Parquet files behind a path: a file, a folder, a table of Delta Lake, or one of Iceberg."""
from __future__ import annotations

from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.fs as pafs
import pyarrow.parquet as pq


@dataclass(frozen=True)
class Source:
    """A Parquet file. ``constants`` are columns whose values its path or its table says: the partition's."""
    path: str
    size: int
    constants: dict = field(default_factory=dict)


def filesystem_of(path):
    """``(filesystem, path in it)`` of a path, or of an address such as ``s3://bucket/folder``."""
    path = str(path)
    return pafs.FileSystem.from_uri(path) if "://" in path else (pafs.LocalFileSystem(), path)


def sources(path, format="auto"):
    """The files of a dataset in a fixed order. ``format`` is "parquet", "delta", "iceberg", or "auto"."""
    fs, place = filesystem_of(path)
    if format == "auto":
        format = _format_of(fs, place)
    if format == "delta":
        return _delta(path)
    if format == "iceberg":
        return _iceberg(path)
    if format != "parquet":
        raise ValueError(f'format is {format!r}; it is "auto", "parquet", "delta" or "iceberg"')
    root = _scheme(path)
    info = fs.get_file_info(place)
    if info.type == pafs.FileType.NotFound:
        raise FileNotFoundError(f"there is no file or folder {path}")
    if info.is_file:
        return [Source(root + info.path, info.size)]
    files = [entry for entry in fs.get_file_info(pafs.FileSelector(place, recursive=True))
             if entry.is_file and entry.path.endswith(".parquet") and not _hidden(entry.path[len(place):])]
    if not files:
        raise FileNotFoundError(f"there is no file *.parquet in {path}")
    return [Source(root + entry.path, entry.size, _partition(entry.path[len(place):]))
            for entry in sorted(files, key=lambda entry: entry.path)]


def _scheme(path):
    """What stands before a path of a filesystem in an address."""
    path = str(path)
    return path.split("://")[0] + "://" if "://" in path else ""


def _hidden(relative):
    """Whether the file or a folder on the way begins with ``_`` or ``.``, which readers leave out."""
    return any(part.startswith(("_", ".")) for part in relative.split("/") if part)


def _partition(relative):
    """The columns that folders called ``name=value`` stand for, as strings."""
    pairs = [part.split("=", 1) for part in relative.split("/")[:-1] if "=" in part]
    return {name: None if value == "__HIVE_DEFAULT_PARTITION__" else value for name, value in pairs}


def _format_of(fs, place):
    if fs.get_file_info(place + "/_delta_log").type == pafs.FileType.Directory:
        return "delta"
    if place.endswith(".metadata.json") or fs.get_file_info(place + "/metadata").type == pafs.FileType.Directory:
        return "iceberg"
    return "parquet"


def _delta(path):
    from deltalake import DeltaTable
    table = DeltaTable(str(path))
    features = set(table.protocol().reader_features or ())
    unread = features & {"deletionVectors", "columnMapping"}
    if unread:
        raise ValueError(f"the Delta table {path} uses {' and '.join(sorted(unread))}, which this program can't read; "
                         "write it as Parquet first")
    actions = pa.table(table.get_add_actions(flatten=True))
    found = []
    for row in actions.to_pylist():
        constants = {name[len("partition."):]: value for name, value in row.items() if name.startswith("partition.")}
        found.append(Source(f"{str(path).rstrip('/')}/{row['path']}", row["size_bytes"], constants))
    return sorted(found, key=lambda source: source.path)


def _iceberg(path):
    from pyiceberg.table import StaticTable
    place = str(path)
    if not place.endswith(".metadata.json"):
        fs, folder = filesystem_of(place)
        versions = [entry.path for entry in fs.get_file_info(pafs.FileSelector(folder + "/metadata"))
                    if entry.path.endswith(".metadata.json")]
        if not versions:
            raise FileNotFoundError(f"{path}/metadata has no file *.metadata.json")
        place = _scheme(path) + max(versions)
    found = []
    for task in StaticTable.from_metadata(place).scan().plan_files():
        if task.delete_files:
            raise ValueError(f"the Iceberg table {path} has files of deleted rows, which this program can't read; "
                             "compact it, or write it as Parquet first")
        found.append(Source(task.file.file_path.removeprefix("file://"), task.file.file_size_in_bytes))
    return sorted(found, key=lambda source: source.path)


def schema_of(source):
    """The schema of a file with its partition's columns."""
    fs, place = filesystem_of(source.path)
    with fs.open_input_file(place) as file:
        schema = pq.ParquetFile(file).schema_arrow
    for name, value in source.constants.items():
        if name not in schema.names:
            schema = schema.append(pa.field(name, _type_of(value)))
    return schema.remove_metadata()


def _type_of(value):
    return pa.string() if value is None else pa.scalar(value).type


def row_count(source):
    """The rows of a file, from its footer."""
    fs, place = filesystem_of(source.path)
    with fs.open_input_file(place) as file:
        return pq.ParquetFile(file).metadata.num_rows


def batches(source, first_row, rows, size):
    """RecordBatches of up to ``size`` rows, of the rows from ``first_row`` on. Only row groups with these are read."""
    fs, place = filesystem_of(source.path)
    with fs.open_input_file(place) as file:
        parquet = pq.ParquetFile(file)
        groups, begin, skip = [], 0, None
        for index in range(parquet.metadata.num_row_groups):
            end = begin + parquet.metadata.row_group(index).num_rows
            if end > first_row and begin < first_row + rows:
                if skip is None:
                    skip = first_row - begin
                groups.append(index)
            begin = end
        left = rows
        for batch in parquet.iter_batches(size, row_groups=groups):
            if skip >= batch.num_rows:
                skip -= batch.num_rows
                continue
            part = batch.slice(skip, left)
            skip, left = 0, left - part.num_rows
            yield _with_constants(part, source.constants)
            if left == 0:
                return


def _with_constants(batch, constants):
    for name, value in constants.items():
        if name not in batch.schema.names:
            column = pa.repeat(pa.scalar(value, _type_of(value)), batch.num_rows)
            batch = batch.append_column(name, column)
    return batch
