"""Runs transcripts of what people do with the programs, and compares what the programs print.

    python3 tests/journeys/run.py --programs FOLDER,.. --sample apps/sample TRANSCRIPT...
    python3 tests/journeys/run.py ... --write TRANSCRIPT...     writes what the programs print into the transcripts

A transcript is a text file. Its first lines, which begin with "#", say what a user wants. Bash runs each line
"$ COMMAND" in a temporary folder, in which `sample` is a copy of the sample checkpoint's folder. The programs are found
by name. The lines after a command are its expected standard output and standard error, and "[exit N]" if the exit code
isn't 0. In expected lines, "..." matches any text within a line, and a line "..." matches any number of lines.
"""
import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile

SECONDS = 120  # the most that a command may take


def read(path):
    """Returns (the lines before the first command, [(command, [expected line, ...]), ...])."""
    head, steps = [], []
    with open(path, encoding="utf-8") as file:
        for line in file.read().splitlines():
            if line.startswith("$ "):
                steps.append((line[2:], []))
            elif steps:
                steps[-1][1].append(line)
            else:
                head.append(line)
    return head, [(command, strip(lines)) for command, lines in steps]


def strip(lines):
    while lines and not lines[-1].strip():
        lines = lines[:-1]
    return lines


def matches(expected, printed):
    pattern = ""
    for line in expected:
        if line == "...":
            pattern += r"(?:[^\n]*\n)*"
        else:
            pattern += "[^\n]*".join(re.escape(part) for part in line.split("...")) + r"\n"
    return re.fullmatch(pattern, "".join(line + "\n" for line in printed)) is not None


def run(command, folder, environment):
    done = subprocess.run(["bash", "-c", command], cwd=folder, env=environment, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=SECONDS)
    printed = strip([line.rstrip() for line in done.stdout.decode("utf-8", "replace").splitlines()])
    return printed + ([f"[exit {done.returncode}]"] if done.returncode else [])


def play(path, given):
    """Runs one transcript and returns its errors. With --write, the printed lines replace the expected ones."""
    head, steps = read(path)
    if not head or not steps:
        return [f"{path}: a transcript begins with a comment and has a command"]
    errors, written = [], list(head)
    with tempfile.TemporaryDirectory(prefix="journey-") as folder:
        shutil.copytree(given.sample, os.path.join(folder, "sample"))
        environment = {"PATH": os.pathsep.join(given.programs + ["/usr/local/bin", "/usr/bin", "/bin"]),
                       "HOME": folder, "LC_ALL": "C.UTF-8", "COLUMNS": "100"}
        environment |= {name: value for name, value in os.environ.items() if name.endswith("SAN_OPTIONS")}
        for command, expected in steps:
            printed = run(command, folder, environment)
            if given.write:
                written += ["$ " + command] + (expected if matches(expected, printed) and expected else printed)
            elif not matches(expected, printed):
                errors.append("\n".join([f"{path}: $ {command}", "expected:"] + ["  " + line for line in expected] +
                                        ["printed:"] + ["  " + line for line in printed]))
                break  # the next commands may depend on this one
    if given.write:
        with open(path, "w", encoding="utf-8") as file:
            file.write("\n".join(written) + "\n")
    return errors


def folders(text):
    """Returns absolute paths of folders that are separated by commas. One of them must have the program linformer."""
    paths = [os.path.abspath(path) for path in text.split(",")]
    if not any(os.access(os.path.join(path, "linformer"), os.X_OK) for path in paths):
        raise argparse.ArgumentTypeError(f"none of these folders has the program linformer: {text}")
    return paths


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", required=True, type=folders, help="folders of the programs")
    parser.add_argument("--sample", required=True, help="the folder of the sample checkpoint")
    parser.add_argument("--write", action="store_true", help="write what the programs print into the transcripts")
    parser.add_argument("transcripts", nargs="+")
    given = parser.parse_args()
    errors, commands = [], 0
    for path in given.transcripts:
        commands += len(read(path)[1])
        errors += play(path, given)
    print("\n\n".join(errors + [f"{len(given.transcripts)} transcripts with {commands} commands, {len(errors)} failed"]))
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
