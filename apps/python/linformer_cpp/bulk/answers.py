"""The columns that each task adds to a table, and their values for a list of texts."""
from __future__ import annotations

import numpy as np

from ..classifier import Classifier
from ..embedder import Embedder
from ..errors import InvalidArgument, TooLong, Unsupported
from ..reranker import Reranker
from ..tagger import Tagger


class Vectors:
    """``embedding``: float32 ``[d]``."""

    def __init__(self, task, options):
        self.task, self.options = task, options
        cut = options.get("truncate_dim")
        width = task.get_sentence_embedding_dimension()
        self.width = min(width, cut) if cut else width
        self.columns = {"embedding": f"float[{self.width}]"}

    def of(self, texts, pairs):
        if pairs is not None:
            raise ValueError("an Embedder reads one text, and pair_field names a second one")
        vectors = self.task.encode(texts, **self.options)
        return {"embedding": list(vectors)}


class Labels:
    """``label`` and ``score``, and with ``all_scores`` also ``scores``: float32 ``[classes]``, in the labels' order."""

    def __init__(self, task, options):
        self.task = task
        self.all_scores = options.pop("all_scores", False)
        self.options = options
        self.columns = {"label": "string", "score": "float"}
        if self.all_scores:
            self.columns["scores"] = f"float[{len(task.labels)}]"
        if options:
            raise TypeError(f"a Classifier's Annotator has no option {next(iter(options))!r}")

    def of(self, texts, pairs):
        given = texts if pairs is None else list(zip(texts, pairs))
        scores = self.task.predict_proba(given)
        best = scores.argmax(axis=1)
        found = {"label": [self.task.labels[label] for label in best],
                 "score": [scores[row, label] for row, label in enumerate(best)]}
        if self.all_scores:
            found["scores"] = list(scores)
        return found


class Scores:
    """``score`` of a text, the query, with its pair, the document."""

    columns = {"score": "float"}

    def __init__(self, task, options):
        self.task, self.options = task, options

    def of(self, texts, pairs):
        if pairs is None:
            raise ValueError("a Reranker needs pair_field, the column of the documents")
        return {"score": list(self.task.predict(list(zip(texts, pairs)), **self.options))}


class Entities:
    """``entities``: the dicts that ``Tagger`` gives."""

    columns = {"entities": "entities"}

    def __init__(self, task, options):
        self.task, self.options = task, options

    def of(self, texts, pairs):
        if pairs is not None:
            raise ValueError("a Tagger reads one text, and pair_field names a second one")
        group = "entity" if self.task.aggregation_strategy == "none" else "entity_group"
        return {"entities": [[{"label": entity[group], "score": entity["score"], "word": entity["word"],
                               "start": entity["start"], "end": entity["end"]} for entity in entities]
                             for entities in self.task(texts, **self.options)]}


_KINDS = ((Embedder, Vectors), (Classifier, Labels), (Reranker, Scores), (Tagger, Entities))


def kind_of(task, options):
    """What computes the columns of a task."""
    for task_class, kind in _KINDS:
        if isinstance(task, task_class):
            return kind(task, dict(options))
    raise TypeError(f"an Annotator takes an Embedder, Classifier, Reranker or Tagger, and not {type(task).__name__}")


def _reason(text):
    """Why a value is no text, or None where it is one."""
    if isinstance(text, str):
        return None
    if text is None or text != text or type(text).__name__ == "NAType":  # NaN isn't equal to itself
        return "the text is null"
    return f"the text is of the type {type(text).__name__}"


def answers(kind, texts, pairs=None):
    """``(values, errors)``: of each column a list with None where a text is bad, and each bad text's reason.

    A text that the library refuses has its sentence; the others of the same batch are then answered one by one, which
    changes no bit of their results.
    """
    errors = [_reason(text) for text in texts]
    if pairs is not None:
        errors = [first or _reason(pair) for first, pair in zip(errors, pairs)]
    good = [row for row, error in enumerate(errors) if error is None]
    values = {name: [None] * len(texts) for name in kind.columns}

    def answer(rows):
        found = kind.of([texts[row] for row in rows], None if pairs is None else [pairs[row] for row in rows])
        for name, column in found.items():
            for row, value in zip(rows, column):
                values[name][row] = value

    try:
        if good:
            answer(good)
    except (InvalidArgument, TooLong, Unsupported):
        for row in good:
            try:
                answer([row])
            except (InvalidArgument, TooLong, Unsupported) as error:
                errors[row] = str(error)
    return values, errors


def as_arrow(kind, name, values):
    """A column as an array of Arrow."""
    import pyarrow as pa
    type_ = arrow_type(kind.columns[name])
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


def arrow_type(text):
    """The type of Arrow that ``columns`` of a kind names."""
    import pyarrow as pa
    if text == "string":
        return pa.string()
    if text == "float":
        return pa.float32()
    if text == "entities":
        return pa.list_(pa.struct([("label", pa.string()), ("score", pa.float32()), ("word", pa.string()),
                                   ("start", pa.int32()), ("end", pa.int32())]))
    return pa.list_(pa.float32(), int(text[len("float["):-1]))


_SPARK_TYPES = {"string": "string", "float": "float",
                "entities": "array<struct<label:string,score:float,word:string,start:int,end:int>>"}


def spark_type(text):
    """The same in the words of Spark, whose arrays have no fixed size."""
    return _SPARK_TYPES.get(text, "array<float>")
