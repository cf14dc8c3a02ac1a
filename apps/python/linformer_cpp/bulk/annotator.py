"""Defines Annotator, which adds the results of a task to the tables of any engine."""
from __future__ import annotations

import functools
import pickle
from collections.abc import Iterator

import numpy as np

from .._task import Task, as_list
from .columns import arrow_array, columns_of, compute_columns


@functools.lru_cache(maxsize=4)
def _load_task(pickled):
    """Unpickles a task only once in a process. Spark unpickles its functions again for each task that a worker runs."""
    return pickle.loads(pickled)


class Annotator:
    """Adds columns with the results of a task to tables. The tables' own columns aren't changed.

    task        an ``Embedder`` (adds ``embedding``), ``Classifier`` (``label``, ``score``), ``Reranker`` (``score``) or
                ``Tagger`` (``entities``)
    field       the column with the texts
    pair_field  the column with the second text of each pair
    prefix      is put before the names of the added columns
    options     the options of the task's call, such as those of ``Embedder.encode``; for a ``Classifier`` only
                ``all_scores=True``, which adds ``scores``

    The object takes a DataFrame of pandas or Polars, a Table or RecordBatch of Arrow, or a dict of columns, and returns
    a table of the same type. The new columns of a dict are NumPy arrays. A Series gives a Series with the first added
    column. An iterator of tables gives an iterator, as ``mapInPandas``, ``mapInArrow`` and iterator UDFs of Spark
    require. The vectors of a RecordBatch from an iterator are lists without a fixed size, because Spark has no lists of
    a fixed size.

    If a row's text is null, or the library returns an error for it, the row is kept. Its results are null, and the
    column ``error`` has the reason. A pickle of the object has the path and the options of its task, and each process
    creates the task once.
    """

    def __init__(self, task: Task, field: str = "text", pair_field: str | None = None, prefix: str = "", **options):
        self._set(pickle.dumps(task), field, pair_field, prefix, options)
        # If the task or the model refuses an option, the error is raised here. Otherwise every row would have it.
        self._columns.compute(["a"], None if pair_field is None else ["a"])

    def _set(self, pickled, field, pair_field, prefix, options):
        self._pickled, self.field, self.pair_field, self.prefix, self._options = (pickled, field, pair_field, prefix,
                                                                                  options)

    @functools.cached_property
    def _columns(self):
        return columns_of(_load_task(self._pickled), self._options)

    @property
    def columns(self) -> list[str]:
        """The names of the added columns."""
        return [*map(self._name, self._columns.spark_types), self.error_column]

    @property
    def error_column(self) -> str:
        """The name of the column that says why a row has no result. It is null in rows that have a result."""
        return self._name("error")

    def _name(self, column):
        return self.prefix + column

    def __call__(self, table):
        if isinstance(table, Iterator):
            return map(self._annotate_item, table)
        library, kind = type(table).__module__.split(".")[0], type(table).__name__
        if isinstance(table, dict):
            return self._annotate_dict(table)
        if kind == "Series" and library in ("pandas", "polars"):
            return self._annotate_series(table)
        if library == "pandas":
            return self._annotate_pandas(table)
        if library == "pyarrow":
            return self._annotate_arrow(table)
        if library == "polars":
            import polars as pl
            return pl.from_arrow(self._annotate_arrow(table.to_arrow()))
        raise TypeError(f"a table is of pandas, Polars or Arrow, or a dict of columns, and not {type(table).__name__}")

    def _annotate_item(self, table):
        if type(table).__name__ == "RecordBatch":
            return self._annotate_arrow(table, fixed_size=False)
        return self(table)

    def _compute(self, column_of):
        """Returns a dict from the names of the added columns to their values as lists."""
        texts = as_list(column_of(self.field))
        pairs = None if self.pair_field is None else as_list(column_of(self.pair_field))
        values, errors = compute_columns(self._columns, texts, pairs)
        return {**{self._name(column): of_column for column, of_column in values.items()}, self.error_column: errors}

    def _check_new_columns(self, names):
        for name in self.columns:
            if name in names:
                raise ValueError(f"the table has a column {name!r} already; give a prefix")

    def _annotate_pandas(self, frame):
        self._check_new_columns(frame.columns)
        values = self._compute(frame.__getitem__)
        return frame.assign(**{name: _pandas_series(column, frame.index) for name, column in values.items()})

    def _annotate_series(self, series):
        values, _ = compute_columns(self._columns, series.to_list())
        name, first = next(iter(values.items()))
        if type(series).__module__.startswith("pandas"):
            return _pandas_series(first, series.index)
        import polars as pl
        return pl.Series(series.name, arrow_array(self._columns.arrow_types()[name], first))

    def _annotate_arrow(self, table, fixed_size=True):
        import pyarrow as pa
        self._check_new_columns(table.schema.names)
        is_batch = isinstance(table, pa.RecordBatch)
        if is_batch:
            table = pa.Table.from_batches([table])
        values = self._compute(table.column)
        for name, type_ in self._arrow_types().items():
            column = arrow_array(type_, values[name])
            if not fixed_size and pa.types.is_fixed_size_list(type_):
                column = column.cast(pa.list_(pa.float32()))
            table = table.append_column(name, column)
        if is_batch:
            batches = table.combine_chunks().to_batches()
            return batches[0] if batches else pa.RecordBatch.from_pylist([], table.schema)
        return table

    def _annotate_dict(self, table):
        self._check_new_columns(table)
        values = self._compute(table.__getitem__)
        return {**table, **{name: _numpy_array(column) for name, column in values.items()}}

    def _arrow_types(self):
        import pyarrow as pa
        types = {self._name(column): type_ for column, type_ in self._columns.arrow_types().items()}
        return {**types, self.error_column: pa.string()}

    def schema(self, schema):
        """Returns the Arrow schema of an annotated table. ``schema`` is the schema of the table's own columns."""
        import pyarrow as pa
        self._check_new_columns(schema.names)
        for name, type_ in self._arrow_types().items():
            schema = schema.append(pa.field(name, type_))
        return schema

    def spark_schema(self, schema):
        """Returns the Spark schema of an annotated table for ``mapInPandas``. ``schema`` is that of its own columns."""
        from pyspark.sql.types import StructType
        self._check_new_columns(schema.names)
        types = {**self._columns.spark_types, "error": "string"}
        added = ", ".join(f"`{self._name(column)}` {type_}" for column, type_ in types.items())
        return StructType(schema.fields + StructType.fromDDL(added).fields)

    def __reduce__(self):
        return _unpickle, (self._pickled, self.field, self.pair_field, self.prefix, self._options)

    def __repr__(self):
        return f"Annotator({_load_task(self._pickled)!r}, field={self.field!r})"


def _unpickle(*state):
    annotator = Annotator.__new__(Annotator)
    annotator._set(*state)
    return annotator


def _has_lists(column):
    return any(hasattr(value, "__len__") and not isinstance(value, str) for value in column if value is not None)


def _pandas_series(column, index):
    import pandas as pd
    return pd.Series(column, index=index, dtype=object if _has_lists(column) else None)


def _numpy_array(column):
    """Returns a column as a NumPy array of numbers if every row has numbers, and otherwise as an array of objects."""
    if column and all(isinstance(value, (np.ndarray, np.floating)) for value in column):
        return np.array(column)
    array = np.empty(len(column), object)
    for row, value in enumerate(column):
        array[row] = value
    return array
