"""Errors, progress, tables and child processes for all modules. It uses only the standard library."""
import json
import os
import subprocess
import sys


class UserError(Exception):
    """An error that the user can correct. Its text is the whole message."""


class Progress:
    """Shows the current step on standard error if it is a terminal."""

    def __init__(self):
        self.shown = sys.stderr.isatty()

    def say(self, text):
        if self.shown:
            sys.stderr.write("\r\x1b[K" + text[:118])
            sys.stderr.flush()

    def clear(self):
        self.say("")


progress = Progress()


def note(text):
    """Prints a line on standard error, even if it is not a terminal."""
    progress.clear()
    print(f"peers.py: {text}", file=sys.stderr, flush=True)


def last_line(text):
    lines = [line.strip() for line in text.strip().splitlines() if line.strip()]
    return lines[-1] if lines else "no message"


def run(command, what):
    """Runs a program and returns its standard output. Raises UserError with a line that begins with `what`."""
    try:
        done = subprocess.run([str(part) for part in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True)
    except OSError as error:
        raise UserError(f"{what}: {command[0]} can't be run ({error.strerror})") from error
    if done.returncode != 0:
        reason = (f"ended by signal {-done.returncode}" if done.returncode < 0 else
                  last_line(done.stderr or done.stdout))
        raise UserError(f"{what} failed: {reason}")
    return done.stdout


def write_json(path, value):
    # JSON has no NaN and no infinity, so numbers that aren't finite become null.
    finite = json.loads(json.dumps(value), parse_constant=lambda name: None)
    text = json.dumps(finite, indent=2) + "\n"
    if path == "-":
        sys.stdout.write(text)
        return
    try:
        temporary = path + ".part"
        with open(temporary, "w", encoding="utf-8") as file:
            file.write(text)
        os.replace(temporary, path)
    except OSError as error:
        raise UserError(f"{path} can't be written: {error.strerror}") from error


def print_table(columns, rows, out=None):
    """Prints a table. Each column is a title and an alignment, and each row is a list of texts."""
    out = out or sys.stdout
    table = [[title for title, _ in columns]] + rows
    widths = [max(len(row[i]) for row in table) for i in range(len(columns))]
    for row in table:
        cells = [cell.ljust(width) if align == "<" else cell.rjust(width)
                 for cell, width, (_, align) in zip(row, widths, columns)]
        print("  ".join(cells).rstrip(), file=out)


def memory(name):
    """Returns the value of a line of /proc/meminfo in bytes, or None if there is no such file or line."""
    try:
        with open("/proc/meminfo", encoding="ascii") as file:
            for line in file:
                if line.startswith(name + ":"):
                    return 1024 * int(line.split()[1])
    except OSError:
        pass
    return None


def processor():
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            for line in file:
                if line.startswith("model name"):
                    return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return "unknown processor"
