"""Keeps converted checkpoints in a cache. The name of a model file there has a hash of the checkpoint's content."""
import contextlib
import hashlib
import json
import os
import sys
import tempfile

from . import conversion
from ._library import lib

#: The endings of files that the converter may read. Files of other formats, such as ONNX, aren't hashed.
_SETTINGS = (".json", ".txt", ".model", ".jinja")
_WEIGHTS = (".safetensors", ".bin", ".pt", ".pth", ".ckpt")


def folder():
    """Returns the folder of the cache: the value of ``LINFORMER_CACHE``, or by default a folder among the system's
    caches."""
    given = os.environ.get("LINFORMER_CACHE")
    if given:
        return given
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or os.path.expanduser("~")
    elif sys.platform == "darwin":
        base = os.path.expanduser("~/Library/Caches")
    else:
        base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return os.path.join(base, "linformer")


def _files(path):
    """Returns (name, path) of the files that determine the result of the conversion, in a fixed order."""
    if os.path.isfile(path):
        parent = os.path.dirname(os.path.abspath(path))
        beside = [name for name in os.listdir(parent) if name.endswith(_SETTINGS)]
        return [("", path)] + sorted((name, os.path.join(parent, name)) for name in beside)
    if not os.path.isdir(path):
        raise FileNotFoundError(f"there is no file or folder {path}; a checkpoint has to be on this machine")
    found = []
    for base, _, names in os.walk(path):
        for name in names:
            if name.endswith(_SETTINGS + _WEIGHTS):
                whole = os.path.join(base, name)
                found.append((os.path.relpath(whole, path), whole))
    return sorted(found)


def _content_hash(path, known):
    """Returns the hash of a file's bytes. ``known`` has the hash, size, time and inode of files that were read
    before."""
    stat = os.stat(path)
    key = os.path.realpath(path)
    stamp = [stat.st_size, stat.st_mtime_ns, stat.st_ino]
    if known.get(key, [None])[:3] == stamp:
        return known[key][3]
    found = hashlib.blake2b(digest_size=20)
    with open(path, "rb") as file:
        while block := file.read(1 << 22):
            found.update(block)
    known[key] = stamp + [found.hexdigest()]
    return known[key][3]


def _read_known(path):
    try:
        with open(path, encoding="utf-8") as file:
            known = json.load(file)
        return known if isinstance(known, dict) else {}
    except (OSError, ValueError):
        return {}


def _replace(path, text):
    """Writes a file so that it appears complete or not at all."""
    descriptor, temporary = tempfile.mkstemp(dir=os.path.dirname(path))
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


@contextlib.contextmanager
def _locked(path):
    """Locks a file against other processes. If a process ends, the system frees its lock."""
    with open(path, "ab") as file:
        if sys.platform == "win32":
            import msvcrt
            file.seek(0)
            while True:  # locking() raises OSError after ten seconds.
                with contextlib.suppress(OSError):
                    msvcrt.locking(file.fileno(), msvcrt.LK_LOCK, 1)
                    break
            try:
                yield
            finally:
                file.seek(0)
                msvcrt.locking(file.fileno(), msvcrt.LK_UNLCK, 1)
        else:
            import fcntl
            fcntl.flock(file, fcntl.LOCK_EX)
            yield


def converted(path, dtype, cache_dir, options):
    """Returns the path of a checkpoint's model file in the cache. Converts the checkpoint if there is no file."""
    place = os.path.abspath(cache_dir or folder())
    os.makedirs(place, exist_ok=True)
    index = os.path.join(place, "contents.json")
    known = _read_known(index)
    before = dict(known)
    key = hashlib.blake2b(digest_size=16)
    key.update(json.dumps([lib.lnf_version(), lib.lnf_format_version(), dtype, options], sort_keys=True,
                          default=str).encode())
    for name, file in _files(path):
        key.update(f"\0{name}\0{_content_hash(file, known)}".encode())
    if known != before:
        _replace(index, json.dumps(known))
    stem = os.path.basename(os.path.abspath(path)) or "model"
    output = os.path.join(place, f"{stem}-{key.hexdigest()}.lnfr")
    if not os.path.exists(output):
        with _locked(output + ".lock"):
            if not os.path.exists(output):
                conversion.convert(path, output, dtype=dtype, **options)
        with contextlib.suppress(OSError):
            os.unlink(output + ".lock")
    return output
