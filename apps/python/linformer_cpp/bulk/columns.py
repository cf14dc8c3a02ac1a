"""Computes the columns that each task adds to a table."""
from __future__ import annotations

import numpy as np

from ..classifier import Classifier
from ..embedder import Embedder
from ..errors import InvalidArgument, TooLong, Unsupported
from ..reranker import Reranker
from ..tagger import Tagger


class _Columns:
    """The base of the classes for each task. ``spark_types`` maps the names of the added columns to types of Spark."""

    def __init__(self, task, options):
        self.task, self.options = task, options

    def arrow_types(self):
        """Returns a dict from the names of the added columns to their Arrow types."""
        return {name: _arrow_type(text) for name, text in self.spark_types.items()}

    def compute(self, texts, pairs):
        """Returns a dict from the names of the added columns to lists of values. ``pairs`` has the second texts, or is
        None."""
        raise NotImplementedError

    def _refuse_pairs(self, pairs):
        if pairs is not None:
            raise ValueError(f"a {type(self.task).__name__} reads one text; remove the column of second texts")


class EmbeddingColumns(_Columns):
    """Computes ``embedding``, float32 ``[d]``."""

    spark_types = {"embedding": "array<float>"}

    def __init__(self, task, options):
        super().__init__(task, options)
        if options.get("precision", "float32") != "float32":
            raise ValueError("an Annotator adds vectors of float32; precision isn't one of its options")
        cut = options.get("truncate_dim")
        width = task.get_sentence_embedding_dimension()
        self.width = min(width, cut) if cut else width

    def arrow_types(self):
        return {"embedding": _vector_type(self.width)}

    def compute(self, texts, pairs):
        self._refuse_pairs(pairs)
        return {"embedding": list(self.task.encode(texts, **self.options))}


class LabelColumns(_Columns):
    """Computes ``label`` and ``score``. With ``all_scores`` it also computes ``scores``, float32 ``[classes]``, in the
    order of the labels."""

    def __init__(self, task, options):
        self.all_scores = options.pop("all_scores", False)
        super().__init__(task, options)
        if options:
            raise TypeError(f"an Annotator of a Classifier has no option {next(iter(options))!r}")
        self.spark_types = {"label": "string", "score": "float"}
        if self.all_scores:
            self.spark_types["scores"] = "array<float>"

    def arrow_types(self):
        types = super().arrow_types()
        if self.all_scores:
            types["scores"] = _vector_type(len(self.task.labels))
        return types

    def compute(self, texts, pairs):
        scores = self.task.predict_proba(texts if pairs is None else list(zip(texts, pairs)))
        best = scores.argmax(axis=1)
        found = {"label": [self.task.labels[label] for label in best],
                 "score": [scores[row, label] for row, label in enumerate(best)]}
        if self.all_scores:
            found["scores"] = list(scores)
        return found


class ScoreColumns(_Columns):
    """Computes ``score`` for a pair. The text is the query, and the second text is the document."""

    spark_types = {"score": "float"}

    def compute(self, texts, pairs):
        if pairs is None:
            raise ValueError("a Reranker reads pairs of texts; name the column with the documents as well")
        return {"score": list(self.task.predict(list(zip(texts, pairs)), **self.options))}


class EntityColumns(_Columns):
    """Computes ``entities``, a list of the entities that ``Tagger`` finds."""

    spark_types = {"entities": "array<struct<label:string,score:float,word:string,start:int,end:int>>"}

    def compute(self, texts, pairs):
        self._refuse_pairs(pairs)
        group = "entity" if self.task.aggregation_strategy == "none" else "entity_group"
        return {"entities": [[{"label": entity[group], "score": entity["score"], "word": entity["word"],
                               "start": entity["start"], "end": entity["end"]} for entity in entities]
                             for entities in self.task(texts, **self.options)]}


_COLUMN_CLASSES = {Embedder: EmbeddingColumns, Classifier: LabelColumns, Reranker: ScoreColumns, Tagger: EntityColumns}


def columns_of(task, options):
    """Returns the object that computes the columns of a task."""
    for task_class, column_class in _COLUMN_CLASSES.items():
        if isinstance(task, task_class):
            return column_class(task, dict(options))
    raise TypeError(f"an Annotator takes an Embedder, Classifier, Reranker or Tagger, and not {type(task).__name__}")


def compute_columns(columns, texts, pairs=None):
    """Returns ``(values, errors)``.

    ``values`` has a list for each column, with None for a bad row. ``errors`` has the reason for each bad row, and None
    for a good one. If the library returns an error for a text, every row of the batch is computed separately, which
    gives the same bits. The row with the error then has the library's message as its reason.
    """
    errors = [_reason(text) for text in texts]
    if pairs is not None:
        errors = [first or _reason(pair) for first, pair in zip(errors, pairs)]
    good = [row for row, error in enumerate(errors) if error is None]
    values = {name: [None] * len(texts) for name in columns.spark_types}

    def compute(rows):
        found = columns.compute([texts[row] for row in rows], None if pairs is None else [pairs[row] for row in rows])
        for name, column in found.items():
            for row, value in zip(rows, column):
                values[name][row] = value

    try:
        if good:
            compute(good)
    except (InvalidArgument, TooLong, Unsupported):
        for row in good:
            try:
                compute([row])
            except (InvalidArgument, TooLong, Unsupported) as error:
                errors[row] = str(error)
    return values, errors


def _reason(text):
    """Returns the reason why a value is not a text, or None if it is one."""
    if isinstance(text, str):
        return None
    if text is None or type(text).__name__ == "NAType" or isinstance(text, float) and text != text:  # NaN
        return "the text is null"
    return f"the text is of the type {type(text).__name__}"


def arrow_array(type_, values):
    """Returns the values of a column as an Arrow array."""
    import pyarrow as pa
    if not pa.types.is_fixed_size_list(type_):
        return pa.array([float(v) if isinstance(v, np.floating) else v for v in values], type_)
    known = np.fromiter((value is not None for value in values), bool, len(values))
    rows = np.zeros((len(values), type_.list_size), np.float32)
    if known.any():
        rows[known] = [value for value in values if value is not None]
    flat = pa.array(rows.reshape(-1), pa.float32())
    if known.all():
        return pa.FixedSizeListArray.from_arrays(flat, type=type_)
    return pa.FixedSizeListArray.from_arrays(flat, type=type_, mask=pa.array(~known))


def _vector_type(width):
    import pyarrow as pa
    return pa.list_(pa.float32(), width)


def _arrow_type(spark_type):
    """Returns the Arrow type for the name of a Spark type."""
    import pyarrow as pa
    simple = {"string": pa.string(), "float": pa.float32(), "int": pa.int32()}
    if spark_type in simple:
        return simple[spark_type]
    if spark_type.startswith("array<struct<"):
        fields = [field.split(":") for field in spark_type[len("array<struct<"):-2].split(",")]
        return pa.list_(pa.struct([(name, simple[text]) for name, text in fields]))
    return pa.list_(pa.float32())
