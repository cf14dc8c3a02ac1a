#!/usr/bin/env python3
"""Measures how much time the package adds to the import of NumPy and to a call of the C API for a short text, and how
much memory many processes and a stream of texts need. apps/python/MEASUREMENTS.md has the figures.

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


def measure_import(arguments):
    """Prints the median milliseconds of processes that import NumPy and of processes that import the package. The two
    take turns."""
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


def measure_call(arguments):
    """Prints the microseconds of a call for one short text as the smallest mean of a round. C and Python take turns."""
    import linformer_cpp
    from linformer_cpp import _library
    library = pathlib.Path(_library._path()).resolve()
    embedder = linformer_cpp.Embedder(arguments.model)
    calls, list_times, single_times, c_times = arguments.calls, [], [], []
    with tempfile.TemporaryDirectory() as scratch:
        source, program = pathlib.Path(scratch, "call.c"), pathlib.Path(scratch, "call")
        source.write_text(C_PROGRAM)
        subprocess.run(["cc", "-O2", "-I", ROOT / "runtime/c_api", source, library, "-o", program,
                        f"-Wl,-rpath,{library.parent}"], check=True)
        for _ in range(5):
            said = subprocess.run([program, arguments.model, TEXT, str(calls)], stdout=subprocess.PIPE, check=True,
                                  env={**os.environ, "LD_LIBRARY_PATH": str(library.parent)}).stdout
            c_times.append(float(said))
            for argument, found in (([TEXT], list_times), (TEXT, single_times)):
                for _ in range(20):
                    begin = time.perf_counter()
                    for _ in range(calls):
                        embedder.encode(argument)
                    found.append(1e6 * (time.perf_counter() - begin) / calls)
    print(f"C {min(c_times):.1f} us, encode(['{TEXT}']) {min(list_times):.1f} us, encode('{TEXT}') "
          f"{min(single_times):.1f} us: {min(list_times) - min(c_times):.1f} us more")


def memory_of(process="self"):
    """Returns the proportional set size and the resident set size of a process in megabytes."""
    found = {}
    for line in pathlib.Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()[1:]:
        name, value = line.split()[:2]
        found[name] = int(value) * 1024 / 1e6
    return found["Pss:"], found["Rss:"]


def _encode(path, ready, leave):
    import linformer_cpp
    embedder = linformer_cpp.Embedder(path)  # The model stays mapped while the memory is measured.
    embedder.encode([TEXT, "word " * 300] * 20)
    ready.release()
    leave.wait()


def measure_processes(arguments):
    """Prints the proportional memory (PSS) of several processes that use one model file, after long and short texts."""
    context = multiprocessing.get_context("spawn")
    ready, leave = context.Semaphore(0), context.Event()
    running = [context.Process(target=_encode, args=(arguments.model, ready, leave))
               for _ in range(arguments.processes)]
    for process in running:
        process.start()
    for _ in running:
        ready.acquire()
    found = [memory_of(process.pid) for process in running]
    leave.set()
    file = os.path.getsize(arguments.model) / 1e6
    together = sum(proportional for proportional, _ in found)
    print(f"file {file:.1f} MB; {arguments.processes} processes together {together:.1f} MB (proportional), so "
          f"{(together - file) / arguments.processes:.1f} MB each beside the file; largest resident set "
          f"{max(resident for _, resident in found):.1f} MB")


def measure_stream(arguments):
    """Prints the resident memory of a process while it computes the texts of an iterator."""
    import linformer_cpp
    embedder = linformer_cpp.Embedder(arguments.model, threads=2)
    seen, begin, points = 0, time.monotonic(), []
    for _ in embedder.encode(f"{TEXT} {number % 1000}" for number in range(arguments.count)):
        seen += 1
        if seen % (arguments.count // 20) == 0:
            points.append(memory_of()[1])
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
    arguments = parser.parse_args()
    if arguments.what != "import" and arguments.model is None:
        parser.error(f"{arguments.what} needs a model")
    {"import": measure_import, "call": measure_call, "processes": measure_processes,
     "stream": measure_stream}[arguments.what](arguments)


if __name__ == "__main__":
    main()
