"""Defines the base of the classes that compute results for texts, and functions for their arguments."""
import os
import threading
import weakref
from collections.abc import Iterator

from ._calls import progress_bar
from .errors import LinformerError
from .model import load, text_options

#: The number of texts of an iterator that are read and computed in one call.
CHUNK = 512


class _AbandonedLock:
    """Replaces a lock that another thread held when the process forked.

    That thread doesn't exist in the child, so nobody would release the lock.
    """

    def __enter__(self):
        raise LinformerError("another thread was using this object when the process forked; create a new object in "
                             "this process")

    def __exit__(self, *error):
        pass

    def locked(self):
        return True


_lock_owners = weakref.WeakSet()


def new_lock(owner):
    """Creates a lock for ``owner``, which only one thread at a time may use. ``owner`` must store it as ``_lock``."""
    _lock_owners.add(owner)
    return threading.Lock()


def _after_fork():
    for owner in _lock_owners:
        if owner._lock.locked():
            owner._lock = _AbandonedLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


class Task:
    """A model with options. Only one thread at a time computes with an object, and other threads wait.

    A pickle has the model's path and the options, so another process maps the same file.
    """

    def __init__(self, model, **options):
        self.model = load(model)
        self._options = options
        self._lock = new_lock(self)
        text_options(**options)  # Raises an exception for wrong options.

    def _text_options(self, **defaults):
        return text_options(**{**defaults, **self._options})

    def _state(self):
        """Returns the arguments that are needed, besides the model and the options, to make an equal object."""
        return {}

    def __reduce__(self):
        return _unpickle, (type(self), self.model, {**self._options, **self._state()})

    def _repr_html_(self):
        """Returns the HTML that a notebook shows: the object's repr and the model's table."""
        import html
        return f"<code>{html.escape(repr(self))}</code>{self.model._repr_html_()}"

    def __repr__(self):
        given = "".join(f", {name}={value!r}" for name, value in {**self._options, **self._state()}.items())
        return f"{type(self).__name__}({self.model!r}{given})"

    async def _in_thread(self, function, *arguments, **options):
        import asyncio  # The import takes 20 ms, and most programs don't need it.
        return await asyncio.to_thread(function, *arguments, **options)


def _unpickle(kind, model, arguments):
    return kind(model, **arguments)


def is_single(texts):
    """Returns whether the argument is a single text."""
    return isinstance(texts, str)


def as_list(texts):
    """Returns texts as a list or tuple. They may be a list, an array, a column of pandas or Polars, or an Arrow
    array."""
    if isinstance(texts, (list, tuple)):
        return texts
    for method in ("to_pylist", "tolist", "to_list"):
        if hasattr(texts, method):
            return getattr(texts, method)()
    return list(texts)


def is_stream(texts):
    """Returns whether the argument is an iterator. The results of an iterator are an iterator, too."""
    return isinstance(texts, Iterator)


def chunks(texts, size=CHUNK):
    """Yields the texts of an iterator in lists of up to ``size`` texts."""
    chunk = []
    for text in texts:
        chunk.append(text)
        if len(chunk) == size:
            yield chunk
            chunk = []
    if chunk:
        yield chunk


def streamed(texts, compute, show_progress=False):
    """Yields the result of each text of an iterator. Only one chunk of texts and results is in memory at a time."""
    with progress_bar(show_progress) as advance:
        for chunk in chunks(texts):
            yield from compute(chunk)
            advance(len(chunk))
