#!/usr/bin/env python3
"""Tries the archives that release.py made: unpacks each one, converts and classifies the sample with its programs, and
builds and runs programs with its library. Prints a table. The exit code is 1 if an answer is wrong.

    python3 apps/release/check_archives.py FOLDER --native build/release

The answers are compared with those of the programs in the build folder --native. Programs for other systems run with
qemu-aarch64 and wine64. Programs that this machine can't run are only linked, and the table says so.
"""
import argparse
import json
import os
import pathlib
import platform
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import zipfile

from hosts import HOSTS
from release import ROOT, ReleaseError, find_zig, version

TEXTS = ["A lovely, moving film.", "What a waste of two hours!"]
NEAREST = 1e-5  # The largest difference of probabilities. Compilers add numbers in different orders.
NEWEST_GLIBC = (2, 28)


def runner(host):
    """Returns the command that runs this host's programs here, or None if there is none, and a text for the table."""
    machine, system = host.target.split("-")[:2]
    if system == "windows":
        wine = shutil.which("wine64") or shutil.which("wine")
        return ([wine], "wine") if wine else (None, "not run: no wine")
    if system != "linux" or platform.system() != "Linux":
        return None, "not run: no such system here"
    if machine == platform.machine():
        return [], "run"
    qemu = shutil.which(f"qemu-{machine}")
    if not qemu:
        return None, f"not run: no qemu-{machine}"
    return [qemu, "-L", f"/usr/{machine}-linux-gnu"], "qemu"


def unpack(archive, to):
    if archive.suffix == ".zip":
        with zipfile.ZipFile(archive) as file:
            for entry in file.infolist():
                path = pathlib.Path(file.extract(entry, to))
                path.chmod(entry.external_attr >> 16 & 0o777 | 0o600)
    else:
        with tarfile.open(archive) as file:
            file.extractall(to, filter="data")
    return next(to.iterdir())


def call(*command, cwd=None):
    done = subprocess.run([str(part) for part in command], cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          env={**os.environ, "WINEDEBUG": "-all"}, check=False)
    if done.returncode != 0:
        raise ReleaseError(f"{command[0]} ended with {done.returncode}: {done.stderr.decode(errors='replace')[-400:]}")
    return done.stdout.decode()


def first_answer(programs, start, folder):
    """Converts the sample, classifies the texts, and returns the model's bytes and the answers."""
    suffix = ".exe" if (programs / "linformer.exe").is_file() else ""
    sample = ROOT / "apps/sample"
    call(*start, programs / f"linformer-convert{suffix}", sample / "checkpoint.pt", "-o", "sample.lnfr", "--tokenizer",
         sample, "--labels", sample / "labels.txt", cwd=folder)
    lines = call(*start, programs / f"linformer{suffix}", "classify", "sample.lnfr", *TEXTS, "--json", cwd=folder)
    return (folder / "sample.lnfr").read_bytes(), [json.loads(line) for line in lines.splitlines()]


def same_answers(found, expected):
    return found[0] == expected[0] and len(found[1]) == len(expected[1]) and all(
        one["label"] == other["label"] and abs(one["probability"] - other["probability"]) <= NEAREST
        for one, other in zip(*(answers for _, answers in (found, expected))))


def newest_glibc(path):
    """Returns the newest version of glibc that a program or a library needs, or (0, 0) if it needs none."""
    words = call("objdump", "-T", path).replace("(", " ").replace(")", " ").split()
    return max((tuple(map(int, word[6:].split("."))) for word in words if word.startswith("GLIBC_2")), default=(0, 0))


def check_protections(path):
    """Raises ReleaseError unless the program is position-independent and its relocations are read-only.

    Memory errors are harder to exploit in such a program.
    """
    facts = call("readelf", "-hlW", path)
    for word, sentence in (("DYN", "is not position-independent"), ("GNU_RELRO", "has writable relocations")):
        if word not in facts:
            raise ReleaseError(f"{path.name} {sentence}")


def check_programs(host, archive, folder, expected):
    start, how = runner(host)
    if start is None:
        return how, ""
    if how == "wine":
        call(*start, "cmd", "/c", "exit")  # The first start makes wine's own folder, which takes seconds.
    begin = time.monotonic()
    programs = unpack(archive, folder) / "bin"
    found = first_answer(programs, start, folder)
    seconds = time.monotonic() - begin
    if not same_answers(found, expected):
        raise ReleaseError(f"{archive.name} answers {found[1]} and not {expected[1]}")
    if "linux" in host.target:
        check_protections(programs / "linformer")
        check_protections(programs / "linformer-convert")
    if "gnu." in host.target and newest_glibc(programs / "linformer") > NEWEST_GLIBC:
        raise ReleaseError(f"{archive.name} needs a newer glibc than {NEWEST_GLIBC}")
    return how, f"{seconds:.2f}"


def musl_compiler(host):
    same = host.target.startswith(platform.machine()) and "musl" in host.target
    return shutil.which("musl-gcc") if same else None


def link_program(host, tree, kind, source, out):
    """Compiles an example and links it with the library ``kind``, with the flags of its file for pkg-config."""
    flags = subprocess.run(["pkg-config", "--cflags", "--libs", kind], stdout=subprocess.PIPE, text=True, check=True,
                           env={**os.environ, "PKG_CONFIG_LIBDIR": str(tree / "lib/pkgconfig")}).stdout.split()
    zig = [find_zig(), "c++" if source.suffix == ".cc" else "cc", "-target", host.target]
    compiler = zig
    if kind == "linformer" and host.library_compiler:
        compiler = [host.library_compiler if source.suffix == ".cc" else host.library_compiler.replace("g++", "gcc")]
    if kind == "linformer-shared" and musl_compiler(host):
        compiler = [musl_compiler(host)]
    dialect = ["-std=c++20"] if source.suffix == ".cc" else []
    call(*compiler, *dialect, source, "-o", out, *flags)


def can_start(host, kind):
    """Returns whether a program can start here. A shared library for musl needs musl, which comes with musl-gcc."""
    return kind == "linformer" or "musl" not in host.target or musl_compiler(host) is not None


def check_library(host, archive, folder, model):
    """Builds a program in C with each library and one in C++ with the static one, and runs them."""
    start, how = runner(host)
    tree = unpack(archive, folder)
    (folder / "sample.lnfr").write_bytes(model)
    suffix = ".exe" if "windows" in host.target else ""
    wanted = [("linformer", "classify.cc"), ("linformer", "classify.c")]
    if (tree / "lib/pkgconfig/linformer-shared.pc").is_file():
        wanted.append(("linformer-shared", "classify.c"))
    for path in tree.glob("bin/*.dll"):
        shutil.copy(path, folder)
    os.environ["LD_LIBRARY_PATH"] = str(tree / "lib")
    ran = 0
    for kind, source in wanted:
        program = folder / f"{kind}-{source[9:]}{suffix}"
        link_program(host, tree, kind, ROOT / "apps/examples" / source, program)
        if start is None or not can_start(host, kind):
            continue
        ran += 1
        answer = call(*start, program, "sample.lnfr", TEXTS[0], cwd=folder)
        if "positive" not in answer:
            raise ReleaseError(f"{program.name} with {archive.name} answers {answer}")
    return f"{len(wanted)} programs linked, {how}" + (f": {ran}" if start is not None else "")


def check_host(host, given, number, expected):
    """Checks the archives of one host and returns their rows of the table."""
    suffix = "zip" if host.name.startswith("windows") else "tar.gz"
    rows = []
    for kind in ("linformer", "liblinformer"):
        archive = given.folder / f"{kind}-{number}-{host.name}.{suffix}"
        if not archive.is_file():
            continue
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            if kind == "linformer":
                how, seconds = check_programs(host, archive, folder, expected)
            else:
                how, seconds = check_library(host, archive, folder, expected[0]), ""
        rows.append((archive.name, f"{archive.stat().st_size / 1e6:.2f} MB", how, seconds))
        print(f"{archive.name}: {how}", file=sys.stderr, flush=True)
    return rows


def main():
    parser = argparse.ArgumentParser(description="Tries the archives that release.py made.")
    parser.add_argument("folder", type=pathlib.Path, metavar="FOLDER", help="folder of the archives")
    parser.add_argument("--native", type=pathlib.Path, required=True, metavar="BUILD",
                        help="build folder whose programs give the answers to compare with")
    given = parser.parse_args()
    given.folder = given.folder.resolve()
    try:
        with tempfile.TemporaryDirectory() as folder:
            folder, native = pathlib.Path(folder), given.native.resolve()
            for program in ("cli/linformer", "convert/linformer-convert"):
                shutil.copy(native / "apps" / program, folder)
            expected = first_answer(folder, [], folder)
        rows = [("archive", "size", "tried", "seconds to the first answer")]
        for host in HOSTS.values():
            rows += check_host(host, given, version(), expected)
    except ReleaseError as error:
        print(f"check_archives.py: {error}", file=sys.stderr)
        return 1
    for row in rows:
        print("| " + " | ".join(row) + " |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
