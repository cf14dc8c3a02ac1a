"""Loads the shared library, and turns its codes into exceptions."""
import ctypes
import os
import sys

from . import _c, errors

#: The version of the header that ``_c.py`` follows. While the major version is 0, each minor version has its own ABI.
VERSION = (0, 1)

_NAMES = {"win32": "linformer.dll", "darwin": "liblinformer.dylib"}


def _path():
    """Returns the path of the shared library: the value of ``LINFORMER_CPP_LIBRARY`` if it is set, otherwise the
    wheel's library if it exists, and otherwise the system's."""
    given = os.environ.get("LINFORMER_CPP_LIBRARY")
    if given:
        return given
    own = os.path.join(os.path.dirname(__file__), "lib", _NAMES.get(sys.platform, "liblinformer.so"))
    if os.path.exists(own):
        return own
    from ctypes.util import find_library  # This imports subprocess and other modules, which the wheel doesn't need.
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
    """Returns the version of the library, such as "0.1.0"."""
    number = library.lnf_version()
    return f"{number >> 16}.{number >> 8 & 255}.{number & 255}"


lib = _load()


def raise_for(code, message):
    """Raises the exception for a code of the library."""
    name, exception = errors.BY_CODE.get(code, ("internal", errors.LinformerError))
    raise exception(message.decode("utf-8", "replace") if isinstance(message, bytes) else message, name)


def check(function, *arguments):
    """Calls a function of the library whose last argument is a status. Raises an exception if it returns an error."""
    status = _c.Status()
    if function(*arguments, status) != 0:
        raise_for(status.code, status.message)


def filled(options, function, **changes):
    """Returns a struct of options with the library's defaults, and with ``changes`` as the values of some fields."""
    made = options()
    function(made, ctypes.sizeof(made))
    for name, value in changes.items():
        setattr(made, name, value)
    return made


def text_of(function, *arguments):
    """Returns the text that a function of the library writes to a buffer, or None if there is none. The function
    returns the needed size, like snprintf."""
    needed = function(*arguments, None, 0)
    if needed == 0:
        return None
    buffer = ctypes.create_string_buffer(needed)
    function(*arguments, buffer, needed)
    return buffer.value.decode("utf-8", "replace")


class Handle:
    """Owns an object of the library and frees it. ``keep`` is a Python object that must exist at least as long."""

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
