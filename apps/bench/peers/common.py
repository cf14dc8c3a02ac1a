"""What all parts need: errors in one line, progress for people, programs that are run. Standard library only."""
import json
import os
import subprocess
import sys


class UserError(Exception):
    """Something that the user can mend; its text is the whole message."""


class Progress:
    """What is being done, on standard error and only where somebody watches."""

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
    """A line that matters without a terminal too."""
    progress.clear()
    print(f"peers.py: {text}", file=sys.stderr, flush=True)


def last_line(text):
    lines = [line.strip() for line in text.strip().splitlines() if line.strip()]
    return lines[-1] if lines else "no message"


def run(command, what):
    """A program's standard output; a failure becomes one line that begins with `what`."""
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
    # JSON has no NaN and no infinity: a figure that isn't finite is null.
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
    """columns: (title, alignment); rows: texts. Two spaces between columns."""
    out = out or sys.stdout
    table = [[title for title, _ in columns]] + rows
    widths = [max(len(row[i]) for row in table) for i in range(len(columns))]
    for row in table:
        cells = [cell.ljust(width) if align == "<" else cell.rjust(width)
                 for cell, width, (_, align) in zip(row, widths, columns)]
        print("  ".join(cells).rstrip(), file=out)


def memory(name):
    """Bytes of a line of /proc/meminfo; None where there is no such file."""
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
