#!/usr/bin/env python3
"""Times two builds of the program linformer in turns, in each precision, and prints how their times compare.

    python3 tests/release/compare_speed.py build/release/apps/cli/linformer OTHER [--rounds 5]

Each round measures every case once with each program, in random order. A ratio is OTHER's least time divided by the
first program's, because on a shared machine the least times vary less than the medians.
"""
import argparse
import json
import pathlib
import random
import subprocess
import sys
import tempfile

DTYPES = ("f32", "bf16", "f16", "int8")
# Each case is (model size, k, tokens of the text, threads); k = 0 stands for full attention.
CASES = (("base", 128, 512, 1), ("base", 128, 512, 2), ("base", 128, 32, 2), ("base", 0, 512, 2), ("tiny", 16, 64, 1))


def call(*command):
    return subprocess.run([str(part) for part in command], stdout=subprocess.PIPE, check=True, text=True).stdout


def measure(program, model, tokens, threads):
    """Returns the least time of a call and the median, in milliseconds."""
    case = {"access": 0, "backend": 0, "batch": 1, "isa": 0, "compute": 0, "attention_compute": 0, "device": -1,
            "threads": threads, "tokens": tokens, "seconds": 0.7, "warm_ups": 1, "least_calls": 3, "profile": False}
    found = json.loads(call(program, "bench", "--case", json.dumps(case), model))
    found = found.get("measurement", found)
    return found["min_ms"], found["median_ms"]


def main():
    parser = argparse.ArgumentParser(description="Times two builds of the program linformer in turns.")
    parser.add_argument("first", type=pathlib.Path)
    parser.add_argument("other", type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args()
    programs = [given.first.resolve(), given.other.resolve()]
    with tempfile.TemporaryDirectory() as folder:
        cells = []
        for size, k, tokens, threads in CASES:
            for dtype in DTYPES:
                model = pathlib.Path(folder) / f"{size}-{k}-{dtype}.lnfr"
                if not model.is_file():
                    call(programs[0], "bench", "--random", size, "--k", k, "--n", 512 if size == "base" else 64,
                         "--dtype", dtype, "--seconds", 0.01, "--save", model)
                cells.append((f"{size}, k {k}, {tokens} tokens, {threads} threads, {dtype}", model, tokens, threads))
        times = {cell[0]: ([], []) for cell in cells}
        for round_number in range(given.rounds):
            order = [(cell, which) for cell in cells for which in (0, 1)]
            random.shuffle(order)
            for (name, *what), which in order:
                times[name][which].append(measure(programs[which], *what))
            print(f"round {round_number + 1} of {given.rounds}", file=sys.stderr, flush=True)
    ratios = []
    for name, (first, other) in times.items():
        least, least_other = (min(time for time, _ in found) for found in (first, other))
        ratios.append(least_other / least)
        print(f"{name}: {least:.3f} ms, {least_other:.3f} ms, ratio {ratios[-1]:.3f}")
    print(f"median of the ratios {sorted(ratios)[len(ratios) // 2]:.3f}, largest {max(ratios):.3f}")


if __name__ == "__main__":
    main()
