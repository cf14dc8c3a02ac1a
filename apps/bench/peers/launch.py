"""Runs a program and prints its time in seconds and its peak memory as JSON.

This script imports few modules, because the kernel counts the memory of this process at the fork as the program's.
"""
import os
import sys
import time

begin = time.perf_counter()
actions = [(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)]
child = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ, file_actions=actions)
status, used = os.wait4(child, 0)[1:]
seconds = time.perf_counter() - begin
code = os.waitstatus_to_exitcode(status)
if code == 0:
    print('{"seconds": %.6f, "peak_mb": %.1f}' % (seconds, used.ru_maxrss / 1024))
elif code < 0:
    print("ended by signal", -code, file=sys.stderr)
sys.exit(0 if code == 0 else 1)
