#!/usr/bin/env python3
"""Makes a Python wheel of each host's archives that release.py wrote. A wheel has the package of apps/python, the
shared library and the programs. Equal archives and sources give equal bytes.

    python3 apps/release/wheels.py FOLDER    # reads FOLDER/*.tar.gz and *.zip, and writes into FOLDER/wheels
"""
import argparse
import base64
import hashlib
import pathlib
import re
import sys
import tarfile
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "apps/python"

# The tag of a host says which systems pip installs its wheel on.
TAGS = {
    "linux-x86_64": "manylinux_2_28_x86_64",
    "linux-aarch64": "manylinux_2_28_aarch64",
    "linux-x86_64-musl": "musllinux_1_2_x86_64",
    "linux-aarch64-musl": "musllinux_1_2_aarch64",
    "windows-x86_64": "win_amd64",
    "macos-aarch64": "macosx_13_0_arm64",
    "macos-x86_64": "macosx_13_0_x86_64",
}
# Patterns of the shared library's file in an archive, and its name in the wheel.
LIBRARIES = ((r"lib/liblinformer\.so\.\d+\.\d+\.\d+", "liblinformer.so"),
             (r"lib/liblinformer\.\d+\.\d+\.\d+\.dylib", "liblinformer.dylib"),
             (r"bin/.*linformer.*\.dll", "linformer.dll"))

METADATA = """Metadata-Version: 2.1
Name: linformer-cpp
Version: {version}
Summary: Runs text encoders on a CPU: embeddings, classes, entities, answers and scores of texts
License: Apache-2.0
Requires-Python: >=3.9
Requires-Dist: numpy
Description-Content-Type: text/markdown

{readme}"""


def members(archive):
    """Yields (path without the first folder, bytes) of each regular file."""
    if archive.suffix == ".zip":
        with zipfile.ZipFile(archive) as file:
            for entry in file.infolist():
                if not entry.is_dir():
                    yield entry.filename.split("/", 1)[1], file.read(entry)
    else:
        with tarfile.open(archive) as file:
            for entry in file:
                if entry.isfile():
                    yield entry.name.split("/", 1)[1], file.extractfile(entry).read()


def contents(programs, library, info):
    """Returns {path in the wheel: (bytes, whether the file is executable)}."""
    found = {}
    for path in sorted(PACKAGE.glob("linformer_cpp/**/*")):
        if path.suffix in (".py", ".pyi", ".typed") or path.name == "py.typed":
            found[path.relative_to(PACKAGE).as_posix()] = path.read_bytes(), False
    for name, content in members(library):
        for pattern, file in LIBRARIES:
            if re.fullmatch(pattern, name):
                found[f"linformer_cpp/lib/{file}"] = content, True
    for name, content in members(programs):
        folder, _, file = name.rpartition("/")
        if folder == "bin":
            found[f"{info.removesuffix('.dist-info')}.data/scripts/{file}"] = content, True
        elif folder.startswith("share/doc/linformer"):
            found[f"{info}/licenses/{name.removeprefix('share/doc/linformer/')}"] = content, False
    if not any(path.startswith("linformer_cpp/lib/") for path in found):
        sys.exit(f"wheels.py: there is no shared library in {library}")
    return found


def write_wheel(host, version, programs, library, to):
    info = f"linformer_cpp-{version}.dist-info"
    tag = f"py3-none-{TAGS[host]}"
    files = contents(programs, library, info)
    readme = (PACKAGE / "README.md").read_text(encoding="utf-8")
    files[f"{info}/METADATA"] = METADATA.format(version=version, readme=readme).encode(), False
    files[f"{info}/WHEEL"] = (f"Wheel-Version: 1.0\nGenerator: linformer.cpp\nRoot-Is-Purelib: false\nTag: {tag}\n"
                              ).encode(), False
    record = []
    for path, (content, _) in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        record.append(f"{path},sha256={digest},{len(content)}\n")
    files[f"{info}/RECORD"] = ("".join(record) + f"{info}/RECORD,,\n").encode(), False
    path = to / f"linformer_cpp-{version}-{tag}.whl"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as file:
        for name, (content, executable) in files.items():
            entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            entry.external_attr = (0o100755 if executable else 0o100644) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            file.writestr(entry, content)
    return path


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("folder", type=pathlib.Path, help="folder with the archives that release.py wrote")
    folder = parser.parse_args().folder
    to = folder / "wheels"
    to.mkdir(exist_ok=True)
    made = []
    for host in TAGS:
        for programs in sorted(folder.glob(f"linformer-*-{host}.*")):
            version = programs.name.split("-")[1]
            library = programs.with_name("lib" + programs.name)
            if library.exists():
                path = write_wheel(host, version, programs, library, to)
                print(f"{path.stat().st_size:>10}  {path.name}")
                made.append(path)
    if not made:
        sys.exit(f"wheels.py: {folder} has no archives")
    sums = "".join(f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in sorted(made))
    (to / "SHA256SUMS").write_text(sums, encoding="utf-8")


if __name__ == "__main__":
    main()
