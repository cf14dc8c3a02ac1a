"""The base of the classes that compute results for texts, and functions for their arguments."""
import html
import os
import threading
import weakref
from collections.abc import Iterator

from ._calls import shown
from .errors import LinformerError
from .model import load, text_options

#: How many texts of an iterator are read and computed at once.
CHUNK = 512


class _LeftInACall:
    """The lock of an object that another thread was using when the process forked: that thread isn't in the child."""

    def __enter__(self):
        raise LinformerError("this object was in a call of another thread when the process forked; make one in this "
                             "process")

    def __exit__(self, *error):
        pass


_with_locks = weakref.WeakSet()


def new_lock(owner):
    """The lock that lets one thread after the other use ``owner``, which keeps it in ``_lock``."""
    _with_locks.add(owner)
    return threading.Lock()


def _after_fork():
    for owner in _with_locks:
        if owner._lock.locked():
            owner._lock = _LeftInACall()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


class Task:
    """A model and options. Only one thread at a time computes with an object; others wait.

    Pickled, an object is its model's path and its options, so that a process maps the same file.
    """

    def __init__(self, model, **options):
        self.model = load(model)
        self._options = options
        self._lock = new_lock(self)
        text_options(**options)  # wrong values raise here

    def _text_options(self, **defaults):
        return text_options(**{**defaults, **self._options})

    def _state(self):
        """The arguments, without the model and the options, with which an equal object can be made."""
        return {}

    def __reduce__(self):
        return _made, (type(self), self.model, {**self._options, **self._state()})

    def _repr_html_(self):
        """What a notebook shows: the model's table below the object's own line."""
        return f"<code>{html.escape(repr(self))}</code>{self.model._repr_html_()}"

    def __repr__(self):
        given = "".join(f", {name}={value!r}" for name, value in {**self._options, **self._state()}.items())
        return f"{type(self).__name__}({self.model!r}{given})"

    async def _in_thread(self, function, *arguments, **options):
        import asyncio  # takes 20 ms, which most programs needn't wait for
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


def streamed(texts, answer, show_progress=False):
    """Yields the results of an iterator's texts one by one. Only one chunk of texts and results is in memory."""
    with shown(show_progress) as bar:
        for some in chunks(texts):
            yield from answer(some)
            bar(len(some))
