"""The base of the classes that compute results for texts, and functions for their arguments."""
import os
import threading
import weakref
from collections.abc import Iterator

from ._calls import progress_bar
from .errors import LinformerError
from .model import load, text_options

#: How many texts of an iterator are read and computed at once.
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
    """Creates the lock with which ``owner`` lets one thread at a time use it; ``owner`` must store it as ``_lock``."""
    _lock_owners.add(owner)
    return threading.Lock()


def _after_fork():
    for owner in _lock_owners:
        if owner._lock.locked():
            owner._lock = _AbandonedLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


class Task:
    """A model and options. Only one thread at a time computes with an object; others wait.

    A pickle holds the model's path and the options, so another process maps the same file.
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
        return _unpickle, (type(self), self.model, {**self._options, **self._state()})

    def _repr_html_(self):
        """What a notebook shows: the model's table below the object's own line."""
        import html
        return f"<code>{html.escape(repr(self))}</code>{self.model._repr_html_()}"

    def __repr__(self):
        given = "".join(f", {name}={value!r}" for name, value in {**self._options, **self._state()}.items())
        return f"{type(self).__name__}({self.model!r}{given})"

    async def _in_thread(self, function, *arguments, **options):
        import asyncio  # imported here because the import takes 20 ms, and most programs don't need it
        return await asyncio.to_thread(function, *arguments, **options)


def _unpickle(kind, model, arguments):
    return kind(model, **arguments)


def is_single(texts):
    """Whether the argument is one text and not several."""
    return isinstance(texts, str)


def as_list(texts):
    """Texts of a list, an array, a column of pandas or polars, or an Arrow array, as a list or tuple."""
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
    chunk = []
    for text in texts:
        chunk.append(text)
        if len(chunk) == size:
            yield chunk
            chunk = []
    if chunk:
        yield chunk


def streamed(texts, compute, show_progress=False):
    """Yields the results of an iterator's texts one by one. Only one chunk of texts and results is in memory."""
    with progress_bar(show_progress) as advance:
        for chunk in chunks(texts):
            yield from compute(chunk)
            advance(len(chunk))
