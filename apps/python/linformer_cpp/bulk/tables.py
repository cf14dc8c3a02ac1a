"""Finds the files of Delta tables and Iceberg tables with the libraries of these formats."""
from __future__ import annotations

import re
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.fs as pafs

from .sources import Source, filesystem_of


def delta(address):
    """Yields the files of the newest version of a Delta table."""
    from deltalake import DeltaTable
    table = DeltaTable(address)
    features = set(table.protocol().reader_features or ()) & {"deletionVectors", "columnMapping"}
    if table.metadata().configuration.get("delta.columnMapping.mode", "none") != "none":
        features.add("columnMapping")
    if features:
        raise ValueError(f"the Delta table {address} uses {' and '.join(sorted(features))}, which this program can't "
                         "read; write the table as Parquet first")
    _, root = filesystem_of(address)
    schema = pa.schema(table.schema())
    for action in pa.table(table.get_add_actions(flatten=True)).to_pylist():
        constants = {name: pa.scalar(action[f"partition.{name}"], schema.field(name).type)
                     for name in table.metadata().partition_columns}
        yield Source(address, f"{root.rstrip('/')}/{unquote(action['path'])}", action["size_bytes"], 0, constants,
                     schema)


def iceberg(address):
    """Yields the files of the current snapshot of an Iceberg table."""
    from pyiceberg.io.pyarrow import schema_to_pyarrow
    from pyiceberg.table import StaticTable
    from pyiceberg.transforms import IdentityTransform
    table = StaticTable.from_metadata(newest_metadata(address))
    names = {column.field_id: column.name for column in table.schema().fields}
    schema = schema_to_pyarrow(table.schema())
    for task in table.scan().plan_files():
        if task.delete_files:
            raise ValueError(f"the Iceberg table {address} has files with deleted rows, which this program can't read; "
                             "compact the table, or write it as Parquet first")
        spec = table.specs()[task.file.spec_id]
        constants = {names[part.source_id]: pa.scalar(task.file.partition[position],
                                                      schema.field(names[part.source_id]).type)
                     for position, part in enumerate(spec.fields)
                     if isinstance(part.transform, IdentityTransform) and part.source_id in names}
        yield Source(address, _path_of(task.file.file_path, address), task.file.file_size_in_bytes, 0, constants,
                     schema)


def newest_metadata(address):
    """Returns the address of the newest metadata file of an Iceberg table."""
    if address.endswith(".metadata.json"):
        return address
    fs, path = filesystem_of(address)
    names = [entry.base_name for entry in fs.get_file_info(pafs.FileSelector(path + "/metadata"))]
    place = f"{address.rstrip('/')}/metadata"
    if "version-hint.text" in names:
        with fs.open_input_file(f"{path}/metadata/version-hint.text") as file:
            return f"{place}/v{int(file.read())}.metadata.json"
    numbered = {}
    for name in names:
        found = re.match(r"v?(\d+)\b.*\.metadata\.json$", name)
        if found:
            numbered.setdefault(int(found.group(1)), []).append(name)
    if not numbered:
        raise FileNotFoundError(f"{place} has no file *.metadata.json with a version")
    newest = numbered[max(numbered)]
    if len(newest) > 1:
        raise ValueError(f"{place} has two files of the same version, {newest[0]} and {newest[1]}; give the address of "
                         "the one that the catalog names")
    return f"{place}/{newest[0]}"


def _path_of(file_address, address):
    """Returns the path of a data file in the filesystem of the table's address."""
    if "://" not in file_address:
        return file_address
    scheme, rest = file_address.split("://", 1)
    if ("://" in address) != (scheme != "file"):
        raise ValueError(f"the Iceberg table {address} has the file {file_address}; give the table's address with "
                         f"{scheme}://")
    authority, _, path = rest.partition("/")
    if scheme in ("file", "hdfs", "viewfs"):
        return "/" + path
    return f"{authority.split('@')[0]}/{path}"
