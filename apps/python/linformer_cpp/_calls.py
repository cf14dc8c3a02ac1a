"""Makes calls of the library that may take long. Other threads run meanwhile, Ctrl-C stops a call, and it reports its
progress."""
import contextlib
import ctypes
import sys
import threading

from . import _c
from ._library import check, filled, lib, raise_for

#: A call with fewer bytes of text and no progress bar runs on the calling thread, because it takes only a few
#: milliseconds.
SMALL = 4096

#: The longest wait of the main thread, in seconds. On Windows Ctrl-C doesn't interrupt a wait, so waits must be short.
_WAIT = 0.1 if sys.platform == "win32" else None


class Cancel:
    """A flag of the library that any thread can set to end a call."""

    def __init__(self):
        self.pointer = lib.lnf_cancel_create()
        if self.pointer is None:
            raise MemoryError

    def set(self, value=True):
        lib.lnf_cancel_set(self.pointer, int(value))

    def __del__(self):
        if getattr(self, "pointer", None) is not None:
            lib.lnf_cancel_free(self.pointer)


@contextlib.contextmanager
def progress_bar(show, total=None):
    """Shows a progress bar of tqdm. Yields a function that is called with the number of texts done since its last call.

    If tqdm isn't installed or ``show`` is false, there is no bar and the function does nothing.
    """
    tqdm = None
    if show:
        with contextlib.suppress(ImportError):
            from tqdm.auto import tqdm
    if tqdm is None:
        yield lambda count: None
        return
    with tqdm(total=total, unit="text") as bar:
        yield bar.update


def call(function, *arguments, texts, size, show_progress=False):
    """Calls a function of the library whose last arguments are a control and a status.

    Python handles signals only in the main thread, between two of its own instructions, and so not during a call of the
    library. A longer call of the main thread is therefore made in another thread, while the main thread waits in a way
    that Ctrl-C can interrupt. After Ctrl-C the flag ends the call, and the exception is raised when the library has
    returned.
    """
    if not show_progress and (size < SMALL or threading.current_thread() is not threading.main_thread()):
        check(function, *arguments, None)
        return
    flag = Cancel()
    with progress_bar(show_progress, texts) as advance:
        shown = 0

        def show_share(_, share):
            nonlocal shown
            finished = round(share * texts)
            advance(finished - shown)
            shown = finished

        progress = _c.Progress(show_share) if show_progress else _c.Progress()
        control = filled(_c.Control, lib.lnf_control_init_sized, cancel=flag.pointer, progress=progress)
        done, failed = threading.Event(), []

        def run():
            try:
                check(function, *arguments, control)
            except BaseException as error:  # It is raised again in the calling thread.
                failed.append(error)
            finally:
                done.set()

        threading.Thread(target=run, daemon=True).start()
        interrupted = None
        # The library uses the buffers of this call until it returns, so the loop waits for that also after Ctrl-C. It
        # waits for an event and not for the thread: in Python 3.11, Thread.join() can return while the thread still
        # runs if Ctrl-C has interrupted an earlier join().
        while True:
            try:
                if done.wait(_WAIT):
                    break
            except BaseException as error:
                interrupted = interrupted or error
                flag.set()
        if interrupted is None and not failed:
            show_share(None, 1.0)
    if interrupted is not None:
        raise interrupted
    if failed:
        raise failed[0]


def call_each(function, kind, take, *arguments, **about):
    """Calls a function of the library that visits the result of each text, and calls ``take(result, report)`` for each.

    The first text with an error ends the call, and its error is raised. An exception of ``take`` also ends the call and
    is raised. Without this, ctypes would only print it.
    """
    failed = []

    def visit(_, answer):
        try:
            seen = answer.contents
            report = seen if kind is _c.Visit else seen.report.contents
            if report.code != 0:
                raise_for(report.code, report.message)
            take(seen, report)
        except BaseException as error:
            failed.append(error)
            return 0
        return 1

    call(function, *arguments, kind(visit), None, **about)
    if failed:
        raise failed[0]


class Texts:
    """Texts in the form that the library takes: an array of pointers to UTF-8, and an array of lengths in bytes."""

    __slots__ = ("pointers", "lengths", "count", "size")

    def __init__(self, texts):
        encoded = [utf8(text, number) for number, text in enumerate(texts)]
        self.count = len(encoded)
        self.pointers = (ctypes.c_char_p * self.count)(*encoded)
        lengths = list(map(len, encoded))
        self.lengths = (ctypes.c_size_t * self.count)(*lengths)
        self.size = sum(lengths)


def utf8(text, number=None):
    """Returns a str as UTF-8. Lone surrogates, which UTF-8 can't encode, become U+FFFD."""
    try:
        return text.encode()
    except AttributeError:
        where = "the text" if number is None else f"text {number}"
        raise TypeError(f"{where} is {text!r:.40} of type {type(text).__name__}, and not a str") from None
    except UnicodeEncodeError:
        return "".join("\ufffd" if "\ud800" <= c <= "\udfff" else c for c in text).encode()
