#!/usr/bin/env python3
"""Builds the files of a release on Debian 12: archives of the programs and of the library, the source, checksums, a
list of the libraries in them (SPDX) and recipes for package managers.

    python3 apps/release/release.py --to build/release-files
    python3 apps/release/release.py --to FOLDER --hosts linux-x86_64,windows-x86_64 --address https://example.org/0.1.0

The same commit gives the same bytes. README.md says what this program needs, and what was tested on which host.
"""
import argparse
import gzip
import hashlib
import importlib.util
import io
import os
import pathlib
import shutil
import subprocess
import sys
import tarfile
import time
import zipfile

import notices
import sbom
from hosts import HOSTS

FOLDER = pathlib.Path(__file__).resolve().parent
ROOT = FOLDER.parents[1]


class ReleaseError(Exception):
    """An error whose message is one sentence."""


def run(*command, cwd=ROOT, log=None):
    """Runs a command. Appends its output to the file `log`, or returns it if there is no log."""
    command = [str(part) for part in command]
    if log is None:
        done = subprocess.run(command, cwd=cwd, stdout=subprocess.PIPE, text=True, check=False)
    else:
        with open(log, "ab") as file:
            done = subprocess.run(command, cwd=cwd, stdout=file, stderr=subprocess.STDOUT, check=False)
    if done.returncode != 0:
        where = f": see {log}" if log else ""
        raise ReleaseError(f"'{' '.join(command[:4])} ...' ended with {done.returncode}{where}")
    return done.stdout if log is None else ""


def version():
    for line in (ROOT / "CMakeLists.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("project(linformer VERSION "):
            return line.split()[2]
    raise ReleaseError("CMakeLists.txt names no version")


def commit_time():
    """Returns the time of the commit, in seconds since 1970. Every file of an archive gets this time."""
    given = os.environ.get("SOURCE_DATE_EPOCH")
    return int(given) if given else int(run("git", "log", "-1", "--format=%ct"))


def find_zig():
    """Returns the path of zig: that of the Python package ziglang if it is installed, otherwise the one on the PATH."""
    package = importlib.util.find_spec("ziglang")
    if package is not None:
        return pathlib.Path(package.origin).resolve().parent / "zig"
    found = shutil.which("zig")
    if found is None:
        raise ReleaseError("zig was not found: install the Python package ziglang, or build no archives (--hosts '')")
    return pathlib.Path(found).resolve()


def files_of(folder):
    return sorted(path for path in folder.rglob("*") if path.is_file() or path.is_symlink())


def write_tar(folder, name, to, seconds):
    """Packs `folder` as name.tar.gz, without owners and with one time for all files, so that the bytes don't vary."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for path in files_of(folder):
            entry = archive.gettarinfo(path, f"{name}/{path.relative_to(folder).as_posix()}")
            entry.uid = entry.gid = 0
            entry.uname = entry.gname = ""
            entry.mtime = seconds
            entry.mode = 0o755 if entry.mode & 0o100 else 0o644
            if entry.isreg():
                with open(path, "rb") as file:
                    archive.addfile(entry, file)
            else:
                archive.addfile(entry)
    with open(to / f"{name}.tar.gz", "wb") as file:
        with gzip.GzipFile("", "wb", 9, file, mtime=seconds) as packed:
            packed.write(buffer.getvalue())


def write_zip(folder, name, to, seconds):
    stamp = time.gmtime(max(seconds, 315532800))[:6]  # Times in zip archives begin in 1980.
    with zipfile.ZipFile(to / f"{name}.zip", "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for path in files_of(folder):
            entry = zipfile.ZipInfo(f"{name}/{path.relative_to(folder).as_posix()}", stamp)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = 0o755 << 16 if os.access(path, os.X_OK) else 0o644 << 16
            archive.writestr(entry, path.read_bytes())


def configure_and_build(folder, compiler, given, log):
    """Configures with the options that all builds of a release share, and builds."""
    common = ["-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release", "-DLINFORMER_FETCH_DEPS=ON", "-DLINFORMER_BUILD_TESTS=OFF",
              f"-DLINFORMER_DEPS_DIR={given.archives}", "-DLINFORMER_ONEDNN=OFF", "-DLINFORMER_OPENBLAS=OFF",
              "-DCMAKE_INSTALL_LIBDIR=lib"]
    # flatc runs on this machine, also in cross builds, so later builds use the one that the first build has made.
    flatc = next(iter(sorted(folder.parent.glob("*/flatc/flatc"))), None)
    if flatc:
        common.append(f"-DLINFORMER_FLATC={flatc}")
    run("cmake", "-S", ROOT, "-B", folder, *common, *compiler, *(f"-D{item}" for item in given.define), log=log)
    run("cmake", "--build", folder, "--parallel", os.cpu_count(), log=log)


def compilers(host):
    """Returns CMake's options for zig, and those for the compiler of the static library, or None if that is zig too."""
    zig = [f"-DCMAKE_TOOLCHAIN_FILE={FOLDER / 'toolchains/zig.cmake'}", f"-DLINFORMER_ZIG_TARGET={host.target}",
           f"-DLINFORMER_ZIG={find_zig()}"]
    if not host.library_compiler:
        return zig, None
    machine = host.target.split("-")[0]
    return zig, [f"-DCMAKE_CXX_COMPILER={host.library_compiler}", "-DCMAKE_SYSTEM_NAME=Linux",
                 f"-DCMAKE_C_COMPILER={host.library_compiler.replace('g++', 'gcc')}",
                 f"-DCMAKE_SYSTEM_PROCESSOR={machine}", "-DLINFORMER_BUILD_APPS=OFF", "-DLINFORMER_BUILD_CONVERTER=OFF"]


def build(host, work, given):
    """Builds for one host, and returns the folders of its programs and of its library."""
    folder, log = work / host.name, work / f"{host.name}.log"
    log.unlink(missing_ok=True)
    zig, other = compilers(host)
    configure_and_build(folder, zig, given, log)
    development = folder
    if other:
        development = work / f"{host.name}-library"
        configure_and_build(development, other, given, log)
    result = {}
    for kind, parts in (("linformer", [(folder, "programs")]),
                        ("liblinformer", [(folder, "shared"), (development, "development")])):
        staged = work / f"{host.name}-{kind}"
        shutil.rmtree(staged, ignore_errors=True)
        for source, component in parts:
            strip = ["--strip"] if source == folder else []
            run("cmake", "--install", source, "--prefix", staged, *strip, "--component", component, log=log)
        licence = staged / "share/doc/linformer/LICENSE"
        licence.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / "LICENSE", licence)
        notices.write(folder, find_zig(), host.target, kind == "linformer", licence.parent / "third-party")
        result[kind] = staged
    return result


def write_source(to, name, seconds):
    """Packs the tree of the commit with `git archive`."""
    data = subprocess.run(["git", "archive", "--format=tar", f"--prefix={name}/", "HEAD"], cwd=ROOT,
                          stdout=subprocess.PIPE, check=True).stdout
    with open(to / f"{name}.tar.gz", "wb") as file:
        with gzip.GzipFile("", "wb", 9, file, mtime=seconds) as packed:
            packed.write(data)


def digest(path, kind):
    return hashlib.new(kind, path.read_bytes()).hexdigest()


def write_recipes(to, number, address):
    """Writes each recipe with the checksums of the archive that it takes, if that archive was built."""
    for recipe in sorted((FOLDER / "recipes").glob("*/*.in")):
        text = recipe.read_text(encoding="utf-8")
        taken = f"linformer-{number}-source.tar.gz"
        if recipe.parent.name == "winget":
            taken = f"linformer-{number}-windows-x86_64.zip"
        if not (to / taken).is_file():
            continue
        values = {"VERSION": number, "RELEASE": address, "SHA256": digest(to / taken, "sha256"),
                  "SHA512": digest(to / taken, "sha512")}
        for name, value in values.items():
            text = text.replace(f"@{name}@", value)
        out = to / "recipes" / recipe.parent.name / recipe.stem
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_text(text, encoding="utf-8")


def write_sums(to):
    files = sorted(path for path in to.iterdir() if path.is_file() and path.name != "SHA256SUMS")
    (to / "SHA256SUMS").write_text("".join(f"{digest(path, 'sha256')}  {path.name}\n" for path in files),
                                   encoding="utf-8")


def parse_arguments():
    parser = argparse.ArgumentParser(description="Builds the archives, checksums and recipes of a release.")
    parser.add_argument("--to", type=pathlib.Path, required=True, metavar="FOLDER", help="folder for the files")
    parser.add_argument("--hosts", default=",".join(HOSTS), help="hosts with commas between (%(default)s)")
    parser.add_argument("--define", action="append", default=[], metavar="NAME=VALUE",
                        help="a variable of CMake for every build; may be repeated")
    parser.add_argument("--archives", default="", metavar="FOLDER",
                        help="folder with the pinned libraries of third_party/README.md; else they are downloaded")
    parser.add_argument("--address", default="https://example.invalid", metavar="URL",
                        help="address of the release, for the recipes")
    parser.add_argument("--work", type=pathlib.Path, default=ROOT / "build/release-work", metavar="FOLDER",
                        help="folder of the builds (%(default)s)")
    arguments = parser.parse_args()
    arguments.hosts = [name for name in arguments.hosts.split(",") if name]
    unknown = [name for name in arguments.hosts if name not in HOSTS]
    if unknown:
        raise ReleaseError(f"the host {unknown[0]} is unknown: give some of {', '.join(HOSTS)}")
    return arguments


def make_release(arguments):
    number, seconds = version(), commit_time()
    to, work = arguments.to.resolve(), arguments.work.resolve()
    os.environ["SOURCE_DATE_EPOCH"] = str(seconds)
    to.mkdir(parents=True, exist_ok=True)
    work.mkdir(parents=True, exist_ok=True)
    write_source(to, f"linformer-{number}-source", seconds)
    for name in arguments.hosts:
        print(f"{name}: building", file=sys.stderr, flush=True)
        for kind, folder in build(HOSTS[name], work, arguments).items():
            pack = write_zip if name.startswith("windows") else write_tar
            pack(folder, f"{kind}-{number}-{name}", to, seconds)
    write_recipes(to, number, arguments.address)
    zig_version = run(find_zig(), "version").strip() if arguments.hosts else ""
    sbom.write(to / f"linformer-{number}.spdx.json", number, seconds, ROOT, zig_version)
    write_sums(to)
    for path in files_of(to):
        print(f"{path.stat().st_size:>10}  {path.relative_to(to)}")


def main():
    try:
        make_release(parse_arguments())
    except (ReleaseError, OSError) as error:
        print(f"release.py: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
