"""Shows progress on stderr: a bar with rate and remaining time on a terminal, otherwise a plain line now and then."""

import sys
import time

BAR_WIDTH = 24
REDRAW_SECONDS = 0.2


class Progress:
    """Shows how much work is done. `unit` names its steps. Without a terminal, it prints every `interval` steps."""

    def __init__(self, total, unit, interval, quiet):
        self.total = total
        self.unit = unit
        self.interval = interval
        self.quiet = quiet
        self.terminal = sys.stderr.isatty()
        self.started = time.monotonic()
        self.drawn = 0.0
        self.shown = False

    def step(self, done, label, more=""):
        if self.quiet:
            return
        now = time.monotonic()
        spent = max(now - self.started, 1e-9)
        status = (f"{label}: {done}/{self.total} {self.unit}{more}, {done / spent:.1f} a second, "
                  f"{spent / done * (self.total - done):.0f} s left")
        if not self.terminal:
            if done % self.interval == 0:
                print(status, file=sys.stderr, flush=True)
        elif now - self.drawn > REDRAW_SECONDS or done == self.total:
            self.drawn = now
            self.shown = True
            filled = BAR_WIDTH * done // self.total
            bar = "#" * filled + "." * (BAR_WIDTH - filled)
            print(f"\r\033[K[{bar}] {status}", end="", file=sys.stderr, flush=True)

    def line(self, text):
        """Prints a line and removes the bar."""
        if self.quiet:
            return
        self.clear()
        print(text, file=sys.stderr, flush=True)

    def clear(self):
        if self.shown:
            print("\r\033[K", end="", file=sys.stderr, flush=True)
        self.shown = False
