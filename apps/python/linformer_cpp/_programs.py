"""Finds the programs of the wheel, which pip installs in the folder of scripts."""
import os
import sys


def program(name):
    """Returns the path of ``linformer`` or ``linformer-convert``. It is looked for in the folders of
    ``LINFORMER_CPP_PROGRAMS``, among the files of this package, and on the PATH."""
    file = name + (".exe" if sys.platform == "win32" else "")
    for place in os.environ.get("LINFORMER_CPP_PROGRAMS", "").split(os.pathsep):
        if place and os.path.exists(os.path.join(place, file)):
            return os.path.join(place, file)
    import shutil
    return _installed(file) or shutil.which(name) or _missing(name)


def _installed(file):
    from importlib import metadata
    try:
        listed = metadata.distribution("linformer-cpp").files or []
    except metadata.PackageNotFoundError:
        return None
    for path in listed:
        if path.name == file and os.path.exists(path.locate()):
            return os.path.realpath(path.locate())
    return None


def _missing(name):
    raise FileNotFoundError(f"the program {name} isn't in this package and not on the PATH: install the wheel, or set "
                            "LINFORMER_CPP_PROGRAMS to its folder")
