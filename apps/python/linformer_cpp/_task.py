"""The base of the classes that compute results for texts, and functions for their arguments."""
import asyncio
import threading
from collections.abc import Iterator

from .model import load, text_options

#: How many texts of an iterator are read and computed at once.
CHUNK = 512


class Task:
    """A model and options. Only one thread at a time computes with an object; others wait.

    Pickled, an object is its model's path and its options, so that a process maps the same file.
    """

    def __init__(self, model, **options):
        self.model = load(model)
        self._options = options
        self._lock = threading.Lock()
        text_options(**options)  # wrong values raise here

    def _text_options(self, **defaults):
        return text_options(**{**defaults, **self._options})

    def _state(self):
        """The arguments, without the model and the options, with which an equal object can be made."""
        return {}

    def __reduce__(self):
        return _made, (type(self), self.model, {**self._options, **self._state()})

    def __repr__(self):
        given = "".join(f", {name}={value!r}" for name, value in {**self._options, **self._state()}.items())
        return f"{type(self).__name__}({self.model!r}{given})"

    async def _in_thread(self, function, *arguments, **options):
        return await asyncio.to_thread(function, *arguments, **options)


def _made(kind, model, arguments):
    return kind(model, **arguments)


def is_single(texts):
    """Whether the argument is one text and not several."""
    return isinstance(texts, str)


def listed(texts):
    """Texts of a list, an array, a column of pandas or polars, or an arrow array, as a list."""
    if isinstance(texts, (list, tuple)):
        return texts
    for method in ("to_pylist", "tolist", "to_list"):
        if hasattr(texts, method):
            return getattr(texts, method)()
    return list(texts)


def is_stream(texts):
    """Whether the argument is an iterator, whose results are then an iterator, too."""
    return isinstance(texts, Iterator)


def chunks(texts, size=CHUNK):
    """Divides the texts of an iterator into lists of up to ``size``."""
    some = []
    for text in texts:
        some.append(text)
        if len(some) == size:
            yield some
            some = []
    if some:
        yield some


def streamed(texts, answer):
    """Yields the results of an iterator's texts one by one. Only one chunk of texts and results is in memory."""
    for some in chunks(texts):
        yield from answer(some)
