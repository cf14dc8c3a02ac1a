"""Shows a progress bar on standard error if it is a terminal."""
import sys
import time

BAR = 24


def duration(seconds):
    seconds = int(seconds + 0.5)
    if seconds < 60:
        return f"{seconds} s"
    if seconds < 3600:
        return f"{seconds // 60} min {seconds % 60:02} s"
    return f"{seconds // 3600} h {seconds % 3600 // 60:02} min"


class Progress:
    def __init__(self, quiet=False, stream=None):
        self.stream = stream or sys.stderr
        self.shown = not quiet and self.stream.isatty()
        self.began, self.last, self.name, self.done_before = time.monotonic(), 0.0, None, 0.0

    def stage(self, name, done=0.0):
        """Begins a stage. An earlier run may have done the share `done` of it."""
        self.finish()
        self.name, self.began, self.last, self.done_before = name, time.monotonic(), 0.0, done
        self.update(done)

    def update(self, done, note=""):
        """Shows the share of the stage that is done, the time left, and a note such as the loss."""
        now = time.monotonic()
        if not self.shown or (now - self.last < 0.2 and done < 1):
            return
        self.last = now
        filled = int(BAR * min(max(done, 0.0), 1.0))
        line = f"{self.name:<10} [{'#' * filled}{'.' * (BAR - filled)}] {100 * done:3.0f} %"
        if done - self.done_before > 0.005:
            line += f"  {duration((now - self.began) * (1 - done) / (done - self.done_before))} left"
        self.stream.write("\r\x1b[K" + line + (f"  {note}" if note else ""))
        self.stream.flush()

    def finish(self):
        if self.shown and self.name:
            self.stream.write("\r\x1b[K")
            self.stream.flush()
        self.name = None
