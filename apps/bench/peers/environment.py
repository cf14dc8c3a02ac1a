"""Makes and enters the virtual environment with the other engines. It uses only the standard library."""
import json
import os
import pathlib
import re
import subprocess
import sys
import time
import venv

from .common import UserError, last_line, note, progress

# The versions are fixed, so that the results of two runs can be compared.
PINS = {
    "torch": "2.15.0", "onnxruntime": "1.32.0", "onnx": "1.23.2", "openvino": "2026.4.1", "nncf": "3.4.0",
    "transformers": "5.23.0", "tokenizers": "0.23.3", "numpy": "2.4.6", "safetensors": "0.8.0"}
# The packages that PyTorch imports on a CPU. Its own list of requirements has several more gigabytes for GPUs.
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
    """Returns the record that setup writes at its end, or None if there is none."""
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
    """Installs packages. Returns None, or the reason if that failed."""
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
    # A build for GPUs doesn't start without its GPU libraries, although nothing here calls them.
    wanted = gpu_libraries(folder)
    progress.say(f"installing {len(wanted)} libraries without which this PyTorch doesn't start ...")
    return pip(folder, *wanted) or import_error(folder, "torch")


def gpu_libraries(folder):
    """Returns the libraries of NVIDIA that PyTorch requires. Triton, PyTorch's compiler, isn't needed."""
    done = python(folder, "-c", "import importlib.metadata as m; print('\\n'.join(m.requires('torch')))")
    wanted = []
    for line in done.stdout.splitlines():
        requirement, _, marker = line.partition(";")
        if re.match(r"(nvidia|cuda-toolkit)", requirement) and "extra" not in marker:
            wanted.append(requirement.strip())
    return wanted


def setup(folder):
    """Makes the environment. Packages that can't be installed are named and left out."""
    begin = time.monotonic()
    folder = os.path.abspath(folder)
    progress.say(f"making {folder} ...")
    try:
        os.makedirs(folder, exist_ok=True)
        if not os.path.exists(python_of(folder)):
            if any(pathlib.Path(folder).iterdir()):
                raise UserError(f"{folder} is not empty and not an environment: name another folder with --environment")
            venv.create(folder, with_pip=True)
    except OSError as error:
        raise UserError(f"{folder} can't be written: {error.strerror or error}") from error
    except subprocess.CalledProcessError as error:
        raise UserError("this Python can't make a virtual environment with pip: install its venv package "
                        "(python3-venv in Debian), or run peers.py with another Python") from error
    missing = {}
    # numpy is installed first, so that the other packages are chosen for its version.
    for package in ["numpy", "torch", *(name for name in PINS if name not in ("numpy", "torch"))]:
        progress.say(f"installing {package} {PINS[package]} ...")
        problem = install_torch(folder) if package == "torch" else pip(folder, f"{package}=={PINS[package]}")
        if problem and package != "torch":
            if pip(folder, package) is None:
                note(f"{package} {PINS[package]} isn't available for this Python; the newest available version is used")
                problem = None
        if not problem:
            problem = import_error(folder, package)
        if problem:
            missing[package] = problem
            note(f"{package} {PINS[package]} couldn't be installed: {problem}")
    # This package would send usage data. OpenVINO and NNCF work without it.
    python(folder, "-m", "pip", "uninstall", "-y", "openvino-telemetry")
    progress.clear()
    if "numpy" in missing:
        raise UserError("numpy is required and couldn't be installed: see the reason above")
    with open(os.path.join(folder, RECORD), "w", encoding="utf-8") as file:
        json.dump({"pins": PINS, "missing": missing}, file, indent=2)
    for engine, packages in NEEDS.items():
        lost = [package for package in packages if package in missing]
        note(f"{engine}: " + ("not available without " + " and ".join(lost) if lost else "ready"))
    note(f"environment in {folder}, {time.monotonic() - begin:.0f} s")


def enter(folder, arguments):
    """Continues this program with the environment's Python. Makes the environment if it doesn't exist."""
    folder = os.path.abspath(folder)
    if os.path.realpath(sys.prefix) == os.path.realpath(folder):
        return
    if not is_ready(folder):
        note(f"making an environment with the other engines in {folder} (once, some minutes)")
        setup(folder)
    program = python_of(folder)
    os.execv(program, [program, *arguments])


def missing_packages():
    """Returns the packages that the environment of this process doesn't have, with the reasons: {package: reason}."""
    record = record_of(sys.prefix)
    return record["missing"] if record else {}
