"""Progress on stderr: a bar on a terminal, otherwise a plain line now and then."""

import sys
import time

BAR_WIDTH = 24
REDRAW_SECONDS = 0.2


class Progress:
    def __init__(self, total, interval, quiet):
        self.total = total
        self.interval = interval
        self.quiet = quiet
        self.terminal = sys.stderr.isatty()
        self.started = time.monotonic()
        self.drawn = 0.0

    def step(self, done, label, loss):
        if self.quiet:
            return
        now = time.monotonic()
        left = (now - self.started) / done * (self.total - done)
        status = f"{label} step {done}/{self.total} loss {loss:.4f} {left:.0f} s left"
        if not self.terminal:
            if done % self.interval == 0:
                print(status, file=sys.stderr, flush=True)
        elif now - self.drawn > REDRAW_SECONDS or done == self.total:
            self.drawn = now
            filled = BAR_WIDTH * done // self.total
            bar = "#" * filled + "." * (BAR_WIDTH - filled)
            print(f"\r\033[K[{bar}] {status}", end="", file=sys.stderr, flush=True)

    def line(self, text):
        if self.quiet:
            return
        start = "\r\033[K" if self.terminal else ""
        print(start + text, file=sys.stderr, flush=True)
