"""One object that adds a task's results to tables of any engine."""
from __future__ import annotations

import functools
import pickle
from collections.abc import Iterator

import numpy as np

from .._task import Task, listed
from .answers import answers, arrow_type, as_arrow, kind_of, spark_type

#: The column with the reason why a row has no result; null where it has one.
ERROR = "error"


@functools.lru_cache(maxsize=4)
def _task_of(pickled):
    """A process makes an equal task once: Spark unpickles its functions for every task that a worker runs."""
    return pickle.loads(pickled)


class Annotator:
    """Adds columns with the results of a task to tables. Their other columns stay as they are.

    task        an ``Embedder`` (adds ``embedding``), ``Classifier`` (``label``, ``score``), ``Reranker`` (``score``) or
                ``Tagger`` (``entities``)
    field       the column with the texts
    pair_field  the column with second texts, for tasks that read two
    prefix      stands before the names of the added columns
    options     of ``Embedder.encode``; ``all_scores=True`` of a ``Classifier`` adds ``scores``

    The object takes a DataFrame of pandas or Polars, a Table or RecordBatch of Arrow, or a dict of columns, and returns
    the same. A Series gives a Series with the first of the added columns. An iterator of these gives an iterator, as
    ``mapInPandas``, ``mapInArrow`` and iterator UDFs of Spark want it; vectors of RecordBatches are then lists without
    a fixed size. A row whose text is null or which the library
    refuses is kept: its results are null, and the column ``error`` says why. Pickled, the object is its task's path and
    options; a process makes the task once.
    """

    def __init__(self, task: Task, field: str = "text", pair_field: str | None = None, prefix: str = "", **options):
        self._set(pickle.dumps(task), field, pair_field, prefix, options)
        self._kind  # wrong options raise here

    def _set(self, pickled, field, pair_field, prefix, options):
        self._pickled, self.field, self.pair_field, self.prefix, self._options = (pickled, field, pair_field, prefix,
                                                                                  options)

    @functools.cached_property
    def _kind(self):
        return kind_of(_task_of(self._pickled), self._options)

    @property
    def columns(self) -> list[str]:
        """The names of the added columns."""
        return [self.prefix + name for name in (*self._kind.columns, ERROR)]

    def __call__(self, table):
        if isinstance(table, Iterator):
            return map(self._of_iterator, table)
        library, kind = type(table).__module__.split(".")[0], type(table).__name__
        if isinstance(table, dict):
            return self._to_dict(table)
        if kind == "Series" and library in ("pandas", "polars"):
            return self._to_series(table)
        if library == "pandas":
            return self._to_pandas(table)
        if library == "pyarrow":
            return self._to_arrow(table)
        if library == "polars":
            import polars as pl
            return pl.from_arrow(self._to_arrow(table.to_arrow()))
        raise TypeError(f"a table is of pandas, Polars or Arrow, or a dict of columns, and not {type(table).__name__}")

    def _values(self, column_of):
        """The added columns, by name, as lists."""
        texts = listed(column_of(self.field))
        pairs = None if self.pair_field is None else listed(column_of(self.pair_field))
        values, errors = answers(self._kind, texts, pairs)
        return {**{self.prefix + name: column for name, column in values.items()}, self.prefix + ERROR: errors}

    def _refuse_twice(self, names):
        for name in self.columns:
            if name in names:
                raise ValueError(f"the table has a column {name!r} already; give a prefix")

    def _to_pandas(self, frame):
        import pandas as pd
        self._refuse_twice(frame.columns)
        values = self._values(frame.__getitem__)
        return frame.assign(**{name: pd.Series(column, index=frame.index, dtype=object if _nested(column) else None)
                               for name, column in values.items()})

    def _to_series(self, series):
        values, errors = answers(self._kind, series.to_list())
        first = next(iter(values))
        if type(series).__module__.startswith("pandas"):
            import pandas as pd
            return pd.Series(values[first], index=series.index, dtype=object if _nested(values[first]) else None)
        import polars as pl
        return pl.Series(series.name, as_arrow(self._kind, first, values[first]))

    def _of_iterator(self, table):
        if type(table).__name__ == "RecordBatch":  # mapInArrow: Spark has no lists of a fixed size
            return self._to_arrow(table, fixed=False)
        return self(table)

    def _to_arrow(self, table, fixed=True):
        import pyarrow as pa
        self._refuse_twice(table.schema.names)
        batch = isinstance(table, pa.RecordBatch)
        if batch:
            table = pa.Table.from_batches([table])
        values = self._values(table.column)
        for name, type_ in self._arrow_fields():
            own = name.removeprefix(self.prefix)
            column = pa.array(values[name], type_) if own == ERROR else as_arrow(self._kind, own, values[name])
            if not fixed and pa.types.is_fixed_size_list(type_):
                column = column.cast(pa.list_(pa.float32()))
            table = table.append_column(name, column)
        if batch:
            batches = table.combine_chunks().to_batches()
            return batches[0] if batches else pa.RecordBatch.from_pylist([], table.schema)
        return table

    def _to_dict(self, table):
        self._refuse_twice(table)
        values = self._values(table.__getitem__)
        return {**table, **{name: _array(column) for name, column in values.items()}}

    def _arrow_fields(self):
        import pyarrow as pa
        return [(self.prefix + name, arrow_type(text)) for name, text in self._kind.columns.items()] + [
            (self.prefix + ERROR, pa.string())]

    def schema(self, schema):
        """The schema of Arrow of a table with this schema and the added columns."""
        import pyarrow as pa
        self._refuse_twice(schema.names)
        for name, type_ in self._arrow_fields():
            schema = schema.append(pa.field(name, type_))
        return schema

    def spark_schema(self, schema):
        """The same for a schema of Spark, as ``mapInPandas`` wants it."""
        from pyspark.sql.types import StructType
        self._refuse_twice(schema.names)
        added = [f"`{self.prefix}{name}` {spark_type(text)}" for name, text in self._kind.columns.items()]
        added.append(f"`{self.prefix}{ERROR}` string")
        return StructType(schema.fields + StructType.fromDDL(", ".join(added)).fields)

    def __reduce__(self):
        return _restored, (self._pickled, self.field, self.pair_field, self.prefix, self._options)

    def __repr__(self):
        return f"Annotator({_task_of(self._pickled)!r}, field={self.field!r})"


def _restored(*state):
    made = Annotator.__new__(Annotator)
    made._set(*state)
    return made


def _nested(column):
    return any(hasattr(value, "__len__") and not isinstance(value, str) for value in column if value is not None)


def _array(column):
    """A list as an array of NumPy: of numbers where each row has some, else of objects."""
    if column and all(isinstance(value, (np.ndarray, np.floating)) for value in column):
        return np.array(column)
    array = np.empty(len(column), object)
    for row, value in enumerate(column):
        array[row] = value
    return array
