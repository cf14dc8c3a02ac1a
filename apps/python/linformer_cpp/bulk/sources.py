"""Finds the Parquet files of a dataset, which is a file, a folder of files, a Delta table or an Iceberg table."""
from __future__ import annotations

import functools
import os
from dataclasses import dataclass, field
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.fs as pafs


@dataclass(frozen=True)
class Source:
    """A Parquet file.

    address    the address that the user gave for the whole dataset; its filesystem has the file
    path       the file's path in this filesystem
    size       in bytes
    modified   the time of the last change in nanoseconds since 1970, or 0 if the table never changes its files
    constants  the values of columns that the file doesn't contain, because its folder's name or its table has them
    schema     the table's schema, to which the file's columns are converted, or None for the file's own schema
    """
    address: str
    path: str
    size: int
    modified: int = 0
    constants: dict[str, pa.Scalar] = field(default_factory=dict)
    schema: pa.Schema | None = None

    @property
    def filesystem(self) -> pafs.FileSystem:
        return filesystem_of(self.address)[0]


@functools.lru_cache(maxsize=64)
def filesystem_of(address):
    """Returns the filesystem, and the path in it, of a path or of an address such as ``s3://bucket/folder``."""
    if "://" in address:
        return pafs.FileSystem.from_uri(address)
    return pafs.LocalFileSystem(), os.path.abspath(address)


def sources(address, format="auto"):
    """Returns the files of a dataset, sorted by path. ``format`` is "parquet", "delta", "iceberg", or "auto"."""
    from . import tables
    fs, path = filesystem_of(address)
    if format == "auto":
        format = _format_of(fs, path)
    readers = {"parquet": _parquet, "delta": tables.delta, "iceberg": tables.iceberg}
    if format not in readers:
        raise ValueError(f'format is {format!r}; it is "auto", "parquet", "delta" or "iceberg"')
    return sorted(readers[format](address), key=lambda source: source.path)


def _format_of(fs, path):
    if fs.get_file_info(path + "/_delta_log").type == pafs.FileType.Directory:
        return "delta"
    if path.endswith(".metadata.json") or fs.get_file_info(path + "/metadata").type == pafs.FileType.Directory:
        return "iceberg"
    return "parquet"


def _parquet(address):
    fs, path = filesystem_of(address)
    info = fs.get_file_info(path)
    if info.type == pafs.FileType.NotFound:
        raise FileNotFoundError(f"there is no file or folder {address}")
    if info.is_file:
        return [Source(address, info.path, info.size, info.mtime_ns or 0)]
    files = [entry for entry in fs.get_file_info(pafs.FileSelector(path, recursive=True))
             if entry.is_file and entry.path.endswith(".parquet") and not is_hidden(entry.path[len(path):])]
    if not files:
        raise FileNotFoundError(f"{address} contains no *.parquet files")
    return [Source(address, entry.path, entry.size, entry.mtime_ns or 0, _hive_columns(entry.path[len(path):]))
            for entry in files]


def is_hidden(relative):
    """Returns whether a part of the path begins with ``_`` or ``.``. Spark and other readers skip these files, too."""
    return any(part.startswith(("_", ".")) and "=" not in part for part in relative.split("/") if part)


def _hive_columns(relative):
    """Returns the columns whose values are in the names of folders, ``name=value``. Their type is string."""
    pairs = [unquote(part).split("=", 1) for part in relative.split("/")[:-1] if "=" in part]
    return {name: pa.scalar(None if value == "__HIVE_DEFAULT_PARTITION__" else value, pa.string())
            for name, value in pairs}
