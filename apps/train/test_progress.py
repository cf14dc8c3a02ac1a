#!/usr/bin/env python3
"""A quick test of the progress line. It needs neither torch nor tokenizers. Run it with: python3 test_progress.py"""

import contextlib
import io
import os
import pty
import sys
import unittest
from unittest import mock

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import progress


class ProgressTest(unittest.TestCase):
    def on_terminal(self, work):
        """Calls `work` with a pseudo terminal as stderr, and returns what it writes there."""
        controller, terminal = pty.openpty()
        with open(terminal, "w", encoding="utf-8") as stream, mock.patch.object(sys, "stderr", stream):
            work()
        # A read may return only a part of what was written. After the last part, it fails or returns nothing.
        shown = b""
        try:
            while part := os.read(controller, 1 << 16):
                shown += part
        except OSError:
            pass
        os.close(controller)
        return shown.decode()

    def test_terminal_has_rate_and_time_left(self):
        def work():
            with mock.patch.object(progress.time, "monotonic", side_effect=[0.0, 2.0, 4.0]):
                shown = progress.Progress(40, "texts", 100, False)
                shown.step(10, "evaluating")
                shown.step(20, "evaluating", ", loss 0.5")
                shown.line("done")

        shown = self.on_terminal(work)
        self.assertIn("[######..................] evaluating: 10/40 texts, 5.0 a second, 6 s left", shown)
        self.assertIn("20/40 texts, loss 0.5, 5.0 a second, 4 s left", shown)
        self.assertTrue(shown.endswith("\r\033[Kdone\r\n"), repr(shown))

    def test_file_gets_a_line_now_and_then(self):
        err = io.StringIO()
        with contextlib.redirect_stderr(err):
            shown = progress.Progress(4, "steps", 2, False)
            for done in range(1, 5):
                shown.step(done, "epoch 1/1")
            shown.clear()
        self.assertEqual(len(err.getvalue().splitlines()), 2)
        self.assertNotIn("\r", err.getvalue())

    def test_quiet_says_nothing(self):
        def work():
            shown = progress.Progress(4, "steps", 1, True)
            shown.step(2, "epoch 1/1")
            shown.line("done")
            print("end", file=sys.stderr)

        self.assertEqual(self.on_terminal(work), "end\r\n")


if __name__ == "__main__":
    unittest.main()
