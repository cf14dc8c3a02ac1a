#!/usr/bin/env python3
"""Measures what the package costs beside the C API: its import, a call for a short text, the memory of many processes,
and of a stream of texts. The figures are in apps/python/MEASUREMENTS.md.

    python3 tests/python/measure.py import
    python3 tests/python/measure.py call MODEL.lnfr      # needs a C compiler, and LINFORMER_CPP_LIBRARY
    python3 tests/python/measure.py processes MODEL.lnfr
    python3 tests/python/measure.py stream MODEL.lnfr --count 10000000
"""
import argparse
import multiprocessing
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

TEXT = "a fine film"
ROOT = pathlib.Path(__file__).resolve().parents[2]


def imports(given):
    """Milliseconds of a process that imports NumPy, and of one that imports the package, in turns; medians."""
    times = {"import numpy": [], "import linformer_cpp": []}
    for _ in range(41):
        for line, found in times.items():
            begin = time.perf_counter()
            subprocess.run([sys.executable, "-c", line], check=True)
            found.append(1e3 * (time.perf_counter() - begin))
    numpy, package = (statistics.median(found) for found in times.values())
    print(f"import numpy {numpy:.1f} ms, import linformer_cpp {package:.1f} ms: {package - numpy:.1f} ms more")


C_PROGRAM = """
#include <linformer.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec + 1e-9 * t.tv_nsec;
}

int main(int argc, char** argv) {
  lnf_model* model;
  lnf_embedder* embedder;
  if (argc != 4 || lnf_model_load(argv[1], NULL, &model, NULL) != LNF_OK ||
      lnf_embedder_create_prompted(model, -1, -1, 0, NULL, NULL, &embedder, NULL) != LNF_OK)
    return 1;
  const char* text = argv[2];
  const size_t bytes = strlen(text);
  float vector[4096];
  int calls;
  sscanf(argv[3], "%d", &calls);
  double least = 1e9;
  for (int round = 0; round < 20; ++round) {
    const double begin = now();
    for (int i = 0; i < calls; ++i)
      if (lnf_embed(embedder, &text, &bytes, 1, vector, lnf_embedder_width(embedder), NULL, NULL) != LNF_OK) return 1;
    const double seconds = (now() - begin) / calls;
    if (seconds < least) least = seconds;
  }
  printf("%.3f\\n", 1e6 * least);
  return 0;
}
"""


def call(given):
    """Microseconds of a call for one text of four tokens: least means of 20 rounds, in turns."""
    import linformer_cpp
    from linformer_cpp import _library
    library = pathlib.Path(_library._path()).resolve()
    embedder = linformer_cpp.Embedder(given.model)
    calls, python, one, c_api = given.calls, [], [], []
    with tempfile.TemporaryDirectory() as scratch:
        source, program = pathlib.Path(scratch, "call.c"), pathlib.Path(scratch, "call")
        source.write_text(C_PROGRAM)
        subprocess.run(["cc", "-O2", "-I", ROOT / "runtime/c_api", source, library, "-o", program,
                        f"-Wl,-rpath,{library.parent}"], check=True)
        for _ in range(5):
            said = subprocess.run([program, given.model, TEXT, str(calls)], stdout=subprocess.PIPE, check=True,
                                  env={**os.environ, "LD_LIBRARY_PATH": str(library.parent)}).stdout
            c_api.append(float(said))
            for argument, found in (([TEXT], python), (TEXT, one)):
                for _ in range(20):
                    begin = time.perf_counter()
                    for _ in range(calls):
                        embedder.encode(argument)
                    found.append(1e6 * (time.perf_counter() - begin) / calls)
    print(f"C {min(c_api):.1f} us, encode(['{TEXT}']) {min(python):.1f} us, encode('{TEXT}') {min(one):.1f} us: "
          f"{min(python) - min(c_api):.1f} us more")


def pss(process="self"):
    """(proportional, resident) kilobytes of a process."""
    found = {}
    for line in pathlib.Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()[1:]:
        name, value = line.split()[:2]
        found[name] = int(value)
    return found["Pss:"], found["Rss:"]


def _encode(path, ready, leave):
    import linformer_cpp
    linformer_cpp.Embedder(path).encode([TEXT, "word " * 300] * 20)
    ready.release()
    leave.wait()


def processes(given):
    """The proportional memory of processes with one model each, after texts of full and of short length."""
    context = multiprocessing.get_context("spawn")
    ready, leave = context.Semaphore(0), context.Event()
    running = [context.Process(target=_encode, args=(given.model, ready, leave)) for _ in range(given.processes)]
    for process in running:
        process.start()
    for _ in running:
        ready.acquire()
    found = [pss(process.pid) for process in running]
    leave.set()
    file = os.path.getsize(given.model) / 1e6
    together = sum(proportional for proportional, _ in found) / 1e3
    print(f"file {file:.1f} MB; {given.processes} processes together {together:.1f} MB (proportional), so "
          f"{(together - file) / given.processes:.1f} MB each beside the file; largest resident set "
          f"{max(resident for _, resident in found) / 1e3:.1f} MB")


def stream(given):
    """Resident memory while texts go through an iterator."""
    import linformer_cpp
    embedder = linformer_cpp.Embedder(given.model, threads=2)
    seen, begin, points = 0, time.monotonic(), []
    for _ in embedder.encode(f"{TEXT} {number % 1000}" for number in range(given.count)):
        seen += 1
        if seen % (given.count // 20) == 0:
            points.append(pss()[1] / 1e3)
            rate = seen / (time.monotonic() - begin)
            print(f"{seen:>12,} texts, {rate:,.0f} texts/s, {points[-1]:.1f} MB", flush=True)
    print(f"after a twentieth {points[0]:.1f} MB, at the end {points[-1]:.1f} MB")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("import", "call", "processes", "stream"))
    parser.add_argument("model", nargs="?")
    parser.add_argument("--calls", type=int, default=200)
    parser.add_argument("--count", type=int, default=10_000_000)
    parser.add_argument("--processes", type=int, default=8)
    given = parser.parse_args()
    if given.what != "import" and given.model is None:
        parser.error(f"{given.what} needs a model")
    {"import": imports, "call": call, "processes": processes, "stream": stream}[given.what](given)


if __name__ == "__main__":
    main()
