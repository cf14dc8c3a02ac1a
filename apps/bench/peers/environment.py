"""The virtual environment with the other engines. Standard library only."""
import json
import os
import pathlib
import re
import subprocess
import sys
import time
import venv

from .common import UserError, last_line, note, progress

# One set of versions, so that figures of two runs can be compared.
PINS = {
    "torch": "2.15.0", "onnxruntime": "1.32.0", "onnx": "1.23.2", "openvino": "2026.4.1", "nncf": "3.4.0",
    "transformers": "5.23.0", "tokenizers": "0.23.3", "numpy": "2.4.6", "safetensors": "0.8.0"}
# What PyTorch imports on a CPU. Its own list also has several gigabytes for GPUs.
TORCH_NEEDS = ("filelock", "typing-extensions", "sympy", "mpmath", "networkx", "jinja2", "markupsafe", "fsspec",
               "setuptools")
# The packages without which an engine can't run.
NEEDS = {"pytorch": ("torch", "safetensors"), "onnxruntime": ("onnxruntime", "onnx", "safetensors"),
         "openvino": ("openvino", "onnx", "safetensors")}
RECORD = "linformer-peers.json"


def default_folder():
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return os.path.join(base, "linformer-peers")


def python_of(folder):
    part = ("Scripts", "python.exe") if os.name == "nt" else ("bin", "python")
    return os.path.join(folder, *part)


def record_of(folder):
    """What setup wrote at its end; None where it never came so far."""
    try:
        with open(os.path.join(folder, RECORD), encoding="utf-8") as file:
            return json.load(file)
    except (OSError, ValueError):
        return None


def is_ready(folder):
    record = record_of(folder)
    return record is not None and record.get("pins") == PINS and os.path.exists(python_of(folder))


def python(folder, *arguments):
    return subprocess.run([python_of(folder), *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def pip(folder, *arguments):
    """None where it worked, otherwise the reason."""
    done = python(folder, "-m", "pip", "install", "--disable-pip-version-check", "--no-input", *arguments)
    if done.returncode == 0:
        return None
    errors = [line for line in done.stderr.splitlines() if line.startswith("ERROR")]
    return (errors[0] if errors else last_line(done.stderr)).replace("ERROR: ", "")


def import_error(folder, package):
    done = python(folder, "-W", "ignore", "-c", f"import {package}")
    return None if done.returncode == 0 else last_line(done.stderr)


def install_torch(folder):
    problem = pip(folder, *TORCH_NEEDS) or pip(folder, "--no-deps", "torch==" + PINS["torch"])
    if problem:
        return problem
    if import_error(folder, "torch") is None:
        return None
    # The build for GPUs doesn't start without their libraries, though nothing here calls them.
    wanted = gpu_libraries(folder)
    progress.say(f"installing {len(wanted)} libraries without which this PyTorch doesn't start ...")
    return pip(folder, *wanted) or import_error(folder, "torch")


def gpu_libraries(folder):
    """PyTorch's own requirements of the maker of GPUs; not its compiler, which nothing here uses."""
    done = python(folder, "-c", "import importlib.metadata as m; print('\\n'.join(m.requires('torch')))")
    wanted = []
    for line in done.stdout.splitlines():
        requirement, _, marker = line.partition(";")
        if re.match(r"(nvidia|cuda-toolkit)", requirement) and "extra" not in marker:
            wanted.append(requirement.strip())
    return wanted


def setup(folder):
    """Makes the environment, says what couldn't be had, and goes on without it."""
    begin = time.monotonic()
    folder = os.path.abspath(folder)
    progress.say(f"making {folder} ...")
    try:
        os.makedirs(folder, exist_ok=True)
        if not os.path.exists(python_of(folder)):
            if any(pathlib.Path(folder).iterdir()):
                raise UserError(f"{folder} is not empty and no environment: name another folder with --environment")
            venv.create(folder, with_pip=True)
    except OSError as error:
        raise UserError(f"{folder} can't be written: {error.strerror or error}") from error
    except subprocess.CalledProcessError as error:
        raise UserError("this Python can't make a virtual environment with pip: install its venv package "
                        "(python3-venv in Debian), or run peers.py with another Python") from error
    missing = {}
    # numpy first: the others then agree with its version.
    for package in ["numpy", "torch", *(name for name in PINS if name not in ("numpy", "torch"))]:
        progress.say(f"installing {package} {PINS[package]} ...")
        problem = install_torch(folder) if package == "torch" else pip(folder, f"{package}=={PINS[package]}")
        if problem and package != "torch":
            if pip(folder, package) is None:
                note(f"{package} {PINS[package]} can't be had for this Python; the newest that can is taken")
                problem = None
        if not problem:
            problem = import_error(folder, package)
        if problem:
            missing[package] = problem
            note(f"{package} {PINS[package]} couldn't be installed: {problem}")
    # Measuring reports to nobody; OpenVINO and NNCF do without this package.
    python(folder, "-m", "pip", "uninstall", "-y", "openvino-telemetry")
    progress.clear()
    if "numpy" in missing:
        raise UserError("nothing works without numpy: see the reason above")
    with open(os.path.join(folder, RECORD), "w", encoding="utf-8") as file:
        json.dump({"pins": PINS, "missing": missing}, file, indent=2)
    for engine, packages in NEEDS.items():
        lost = [package for package in packages if package in missing]
        note(f"{engine}: " + ("not there, for want of " + " and ".join(lost) if lost else "ready"))
    note(f"environment in {folder}, {time.monotonic() - begin:.0f} s")


def enter(folder, arguments):
    """Goes on with the environment's Python, which is made where it isn't there yet."""
    folder = os.path.abspath(folder)
    if os.path.realpath(sys.prefix) == os.path.realpath(folder):
        return
    if not is_ready(folder):
        note(f"making an environment with the other engines in {folder} (once, some minutes)")
        setup(folder)
    program = python_of(folder)
    os.execv(program, [program, *arguments])


def missing_packages():
    """Of the environment that this process runs in: {package: reason}."""
    record = record_of(sys.prefix)
    return record["missing"] if record else {}
