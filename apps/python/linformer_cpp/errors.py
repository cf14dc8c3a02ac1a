"""Defines the exceptions of this package. Each has the library's error code and its message."""


class LinformerError(Exception):
    """The base of all errors. ``code`` is the name of an ``lnf_code`` without its prefix, in lower case."""

    def __init__(self, message, code="internal"):
        super().__init__(message)
        self.code = code

    def __reduce__(self):
        return type(self), (self.args[0], self.code)


class InvalidArgument(LinformerError, ValueError):
    """An argument has a value that the model or the library doesn't accept."""


class TooLong(LinformerError, ValueError):
    """A text has more tokens than the call may read, or a buffer is too small."""


class Cancelled(LinformerError):
    """The call was stopped."""


class FileError(LinformerError, OSError):
    """A file can't be read or written."""

    def __init__(self, message, code="io"):
        LinformerError.__init__(self, message, code)

    def __str__(self):
        return self.args[0]


class OutOfMemory(LinformerError, MemoryError):
    """There is not enough memory for a model or a session."""


class CorruptFile(LinformerError, ValueError):
    """A file doesn't follow its format, or contradicts itself."""


class Unsupported(LinformerError):
    """A file or an option is valid, but this version, build or processor doesn't support it."""


class ConversionError(LinformerError):
    """linformer-convert ended with an error."""


#: Maps each ``lnf_code`` to its name and its exception.
BY_CODE = {
    0x10: ("invalid_argument", InvalidArgument),
    0x11: ("too_long", TooLong),
    0x12: ("cancelled", Cancelled),
    0x20: ("io", FileError),
    0x21: ("out_of_memory", OutOfMemory),
    0x30: ("corrupt", CorruptFile),
    0x31: ("unsupported", Unsupported),
    0x40: ("internal", LinformerError),
}
