"""Writes files so that they appear complete or not at all."""
import contextlib
import json
import os
import pathlib


@contextlib.contextmanager
def atomic_write(path):
    """Gives a temporary path in the folder of `path`. If the block ends without an exception, the temporary file is
    renamed to `path`."""
    path = pathlib.Path(path)
    temporary = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        yield temporary
        mask = os.umask(0)
        os.umask(mask)
        temporary.chmod(0o666 & ~mask)  # Some libraries write files that only their owner can read.
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def write_text(path, text):
    with atomic_write(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def write_json(path, value):
    write_text(path, json.dumps(value, indent=2, ensure_ascii=False) + "\n")
