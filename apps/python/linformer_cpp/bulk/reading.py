"""Reads the footers and the rows of the files of a dataset."""
from __future__ import annotations

import contextlib

import pyarrow as pa
import pyarrow.parquet as pq

#: The number of bytes of input rows to read at a time. The size of a row is estimated from the file's footer.
BATCH_BYTES = 32 << 20


@contextlib.contextmanager
def _opened(source):
    with source.filesystem.open_input_file(source.path) as file:
        # Spark writes timestamps as INT96. Without this option they are read as nanoseconds, which overflow in 2262.
        yield pq.ParquetFile(file, buffer_size=1 << 20, coerce_int96_timestamp_unit="us")


def footer_of(source):
    """Returns ``(rows, schema)`` of a file. The schema has the columns that the file's folder or table adds."""
    with _opened(source) as parquet:
        return parquet.metadata.num_rows, _projected(parquet.schema_arrow.empty_table(), source).schema


def batches(source, first_row, rows, most_rows):
    """Yields ``rows`` rows from ``first_row`` on, as RecordBatches of up to ``most_rows`` rows.

    Only the row groups of these rows are read. If rows are large, batches have fewer rows.
    """
    with _opened(source) as parquet:
        groups, begin, skip, bytes_of_groups = [], 0, 0, 0
        for index in range(parquet.metadata.num_row_groups):
            group = parquet.metadata.row_group(index)
            end = begin + group.num_rows
            if group.num_rows and end > first_row and begin < first_row + rows:
                if not groups:
                    skip = first_row - begin
                groups.append(index)
                bytes_of_groups = max(bytes_of_groups, group.total_byte_size // group.num_rows)
            begin = end
        size = max(1, min(most_rows, BATCH_BYTES // max(1, bytes_of_groups)))
        left = rows
        for batch in parquet.iter_batches(size, row_groups=groups):
            if skip >= batch.num_rows:
                skip -= batch.num_rows
                continue
            part = batch.slice(skip, left)
            skip, left = 0, left - part.num_rows
            yield from _projected(pa.Table.from_batches([part]), source).to_batches()
            if left == 0:
                return


def _projected(table, source):
    """Returns the rows with the columns of ``source.schema``. If that is None, the rows have the file's columns and
    ``source.constants``."""
    if source.schema is None:
        for name, value in source.constants.items():
            if name not in table.schema.names:
                table = table.append_column(name, pa.repeat(value, table.num_rows))
        return table.replace_schema_metadata(None)
    columns = [_column(table, column, source.constants).cast(column.type) for column in source.schema]
    return pa.Table.from_arrays(columns, schema=pa.schema([column.remove_metadata() for column in source.schema]))


def _column(table, wanted, constants):
    """Returns a column, which is found by Iceberg's id if the file has ids, and otherwise by its name. A column that
    the file doesn't have gets its constant or nulls."""
    key = b"PARQUET:field_id"
    number = (wanted.metadata or {}).get(key)
    by_id = {(column.metadata or {}).get(key): position for position, column in enumerate(table.schema)}
    if number is not None and set(by_id) - {None}:
        position = by_id.get(number, -1)
    else:
        position = table.schema.get_field_index(wanted.name)
    if position >= 0:
        return table.column(position)
    return pa.chunked_array([pa.repeat(constants.get(wanted.name, pa.scalar(None, wanted.type)), table.num_rows)])
