"""Loads the shared library, and turns its codes into exceptions."""
import ctypes
import os
import sys

from . import _c, errors

#: The version of the header that ``_c.py`` follows. While the major version is 0, another minor version is another ABI.
VERSION = (0, 1)

_NAMES = {"win32": "linformer.dll", "darwin": "liblinformer.dylib"}


def _path():
    """The path of the shared library: what ``LINFORMER_CPP_LIBRARY`` names, else the wheel's, else the system's."""
    given = os.environ.get("LINFORMER_CPP_LIBRARY")
    if given:
        return given
    own = os.path.join(os.path.dirname(__file__), "lib", _NAMES.get(sys.platform, "liblinformer.so"))
    if os.path.exists(own):
        return own
    from ctypes.util import find_library  # imports subprocess and much else, which the wheel doesn't need
    return find_library("linformer") or own


def _load():
    path = _path()
    try:
        library = ctypes.CDLL(path)
    except OSError as error:
        raise ImportError(f"linformer_cpp can't load its library {path}: {error}. Install the wheel for this system, "
                          "or set LINFORMER_CPP_LIBRARY to a liblinformer of version "
                          f"{VERSION[0]}.{VERSION[1]}") from error
    for name, (result, arguments) in _c.FUNCTIONS.items():
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    version = library.lnf_version()
    if (version >> 16, version >> 8 & 255) != VERSION:
        raise ImportError(f"{path} has version {version_of(library)}, and this package needs {VERSION[0]}.{VERSION[1]}")
    return library


def version_of(library):
    """The version of the library, such as "0.1.0"."""
    number = library.lnf_version()
    return f"{number >> 16}.{number >> 8 & 255}.{number & 255}"


lib = _load()


def raise_for(code, message):
    """Raises the exception that stands for this code of the library."""
    name, exception = errors.BY_CODE.get(code, ("internal", errors.LinformerError))
    raise exception(message.decode("utf-8", "replace") if isinstance(message, bytes) else message, name)


def check(function, *arguments):
    """Calls a function of the library that takes a status at the end, and raises its error."""
    status = _c.Status()
    if function(*arguments, status) != 0:
        raise_for(status.code, status.message)


def filled(options, function, **changes):
    """A struct of options with the library's defaults, but for these fields."""
    made = options()
    function(made, ctypes.sizeof(made))
    for name, value in changes.items():
        setattr(made, name, value)
    return made


def text_of(function, *arguments):
    """The text that a function of the library writes into a buffer; like snprintf, it returns the needed size."""
    needed = function(*arguments, None, 0)
    if needed == 0:
        return None
    buffer = ctypes.create_string_buffer(needed)
    function(*arguments, buffer, needed)
    return buffer.value.decode("utf-8", "replace")


class Handle:
    """Owns an object of the library and frees it. ``keep`` is a Python object that must live at least as long."""

    __slots__ = ("pointer", "_free", "_keep")

    def __init__(self, create, free, *arguments, keep=None):
        made = ctypes.c_void_p()
        self.pointer = None
        check(create, *arguments, made)
        self.pointer, self._free, self._keep = made.value, free, keep

    def __del__(self):
        if getattr(self, "pointer", None) is not None:
            self._free(self.pointer)
            self.pointer = None
