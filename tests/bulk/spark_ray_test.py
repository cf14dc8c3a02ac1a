#!/usr/bin/env python3
"""Runs the programs of apps/bulk with Spark and Ray over the same texts. Checks that their vectors have the same bits
as those of the program linformer, that a run finishes after a worker or the whole run is killed, and that an error of a
worker becomes one line. Measures how many texts the programs embed per second.

    python3 tests/bulk/spark_ray_test.py --model minilm.lnfr --texts sentences.txt --count 300000 --engines spark,ray

Needs linformer_cpp with its programs, pyarrow, and pyspark with a Java runtime, or ray. Prints a table. --json FILE
writes all figures. The exit code is 1 if something differs.
"""
import argparse
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from linformer_cpp._programs import program

BULK = pathlib.Path(__file__).resolve().parents[2] / "apps/bulk"
SHARES = (0.4, 0.25, 0.2, 0.1, 0.05)  # The shares of the texts in each file. They differ on purpose.
MARK = "LINFORMER_BULK_TEST"  # A variable in the environment of this run's processes.
PROCESSES = {"spark": "pyspark.daemon", "ray": "ray::"}  # The command line of a worker process contains this.


def options():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--model", required=True)
    parser.add_argument("--texts", help="a file with one text per line, repeated up to --count (generated texts)")
    parser.add_argument("--count", type=int, default=300_000)
    parser.add_argument("--unit-rows", type=int, default=10_000)
    parser.add_argument("--workers", default="1,2")
    parser.add_argument("--engines", default="spark,ray")
    parser.add_argument("--json")
    return parser.parse_args()


def texts_of(path, count):
    if path is None:
        return [f"the sailor {number} sings in Oslo" for number in range(count)]
    with open(path, encoding="utf-8") as file:
        lines = [line.strip() for line in file if line.strip()]
    return [lines[number % len(lines)] for number in range(count)]


def write_data(folder, texts):
    folder.mkdir()
    bounds = [int(len(texts) * sum(SHARES[:number])) for number in range(len(SHARES))] + [len(texts)]
    for number, (begin, end) in enumerate(zip(bounds, bounds[1:])):
        table = pa.table({"id": pa.array(range(begin, end), pa.int64()), "text": texts[begin:end]})
        pq.write_table(table, folder / f"part-{number}.parquet", row_group_size=7_000)


def command_line_vectors(model, texts, scratch, threads):
    """Returns the vectors that the program linformer writes, and its seconds."""
    with open(scratch / "texts.jsonl", "w", encoding="utf-8") as file:
        file.writelines(json.dumps({"text": text}) + "\n" for text in texts)
    begin = time.monotonic()
    subprocess.run([program("linformer"), "embed", model, "--input", scratch / "texts.jsonl", "-o",
                    scratch / "expected.npy", "--threads", str(threads)], check=True)
    return np.load(scratch / "expected.npy"), time.monotonic() - begin


def count_output_files(output):
    """Returns the number of finished files of results."""
    return len(list(output.glob("*.parquet"))) if output.exists() else 0


def workers_of(engine, scratch):
    """Returns the process ids of this run's workers that have mapped a model file."""
    found, mark = [], f"{MARK}={scratch}".encode()
    for entry in pathlib.Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                line = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
                if (PROCESSES[engine] in line and mark in (entry / "environ").read_bytes() and
                        ".lnfr" in (entry / "maps").read_text()):
                    found.append(int(entry.name))
            except OSError:
                continue  # The process has ended.
    return found


class Runs:
    """The runs of one engine."""

    def __init__(self, engine, arguments, scratch, expected):
        self.engine, self.arguments, self.scratch, self.expected = engine, arguments, scratch, expected
        self.output, self.log = scratch / "out", scratch / f"{engine}.log"
        self.rows, self.failures = [], []

    def _environment(self, workers):
        variables = {**os.environ, "OMP_NUM_THREADS": "1", MARK: str(self.scratch)}
        if self.engine == "spark":
            import pyspark
            variables.update({
                "SPARK_HOME": os.path.dirname(pyspark.__file__), "PYSPARK_PYTHON": sys.executable,
                "PYSPARK_SUBMIT_ARGS": f"--master local-cluster[{workers},1,1024] --conf spark.executor.memory=1g "
                                       "--conf spark.ui.enabled=false pyspark-shell"})
        return variables

    def run(self, workers, action=None, folder="in"):
        """Runs the program. Returns ``(code, seconds, summary)``. Calls ``action(process)`` until it returns True."""
        line = [sys.executable, str(BULK / f"{self.engine}_job.py"), "--task", "embed", "--model", self.arguments.model,
                "--input", str(self.scratch / folder), "--output", str(self.output), "--unit-rows",
                str(self.arguments.unit_rows)] + (["--workers", str(workers)] if self.engine == "ray" else [])
        begin = time.monotonic()
        with open(self.log, "a", encoding="utf-8") as log:
            process = subprocess.Popen(line, stdout=subprocess.PIPE, stderr=log, text=True, start_new_session=True,
                                       env=self._environment(workers))
            while action is not None and process.poll() is None:
                if action(process):
                    break
                time.sleep(0.05)
            summaries = [text for text in process.communicate()[0].splitlines() if text.startswith("{")]
        return process.returncode, time.monotonic() - begin, json.loads(summaries[-1]) if summaries else {}

    def check(self, case, workers, result, **more):
        """Compares the vectors with those of the program linformer, records the run, and removes its output."""
        code, seconds, summary = result
        row = {"engine": self.engine, "workers": workers, "case": case, "seconds": seconds, "summary": summary, **more}
        try:
            row["same_bits"] = bool(np.array_equal(self._vectors(), self.expected))
        except (ValueError, OSError) as error:
            row["same_bits"], row["error"] = False, str(error)
        if code != 0 or not row["same_bits"]:
            self.failures.append(f"{self.engine}, {case}: exit code {code}, {row.get('error', 'other vectors')}")
        self.rows.append(row)
        shutil.rmtree(self.output, ignore_errors=True)

    def _vectors(self):
        table = pq.read_table(self.output)
        ids, count = table["id"].to_numpy(), len(self.expected)
        if len(ids) != count or len(np.unique(ids)) != count:
            raise ValueError(f"{len(ids)} rows with {len(np.unique(ids))} ids instead of {count}")
        vectors = table["embedding"].combine_chunks().flatten().to_numpy().reshape(count, -1)
        return vectors[np.argsort(ids)]

    def test_killed_worker(self, workers):
        killed = []

        def kill(process):
            found = workers_of(self.engine, self.scratch) if count_output_files(self.output) >= 2 else []
            if found:
                os.kill(found[0], signal.SIGKILL)
                killed.append(found[0])
            return bool(found)

        self.check("a worker killed", workers, self.run(workers, kill), killed=len(killed))
        if not killed:
            self.failures.append(f"{self.engine}: no worker was found in time")

    def test_restart(self, workers):
        def kill(process):
            if count_output_files(self.output) < 3:
                return False
            os.killpg(process.pid, signal.SIGKILL)
            return True

        self.run(workers, kill)
        for process in workers_of(self.engine, self.scratch):  # Without their driver they would run on for a while.
            os.kill(process, signal.SIGKILL)
        time.sleep(5)
        there = count_output_files(self.output)
        result = self.run(workers)
        self.check("the run killed, and started again", workers, result, files_there=there)
        if there == 0 or result[2].get("computed_rows", 0) >= len(self.expected):
            self.failures.append(f"{self.engine}: the second run computed everything again")

    def test_error(self, workers):
        """Tests that a worker reports a Parquet file whose footer is valid but whose data are damaged."""
        file = self.scratch / "broken/part.parquet"
        file.parent.mkdir(exist_ok=True)
        pq.write_table(pa.table({"text": [f"text {number}" for number in range(1000)]}), file, compression="zstd")
        content = bytearray(file.read_bytes())
        content[40:400] = bytes(360)
        file.write_bytes(content)
        code = self.run(workers, folder="broken")[0]
        lines = self.log.read_text(encoding="utf-8", errors="replace").splitlines()
        errors = [line for line in lines if line.startswith(f"{self.engine}_job.py: ")]
        if code != 1 or len(errors) != 1 or str(file) not in errors[0] or self.output.joinpath("_SUCCESS").exists():
            self.failures.append(f"{self.engine}: exit code {code} for a broken file, and the errors {errors}")
        else:
            print(errors[0])
        shutil.rmtree(self.output, ignore_errors=True)


def print_table(rows, count):
    print(f"{'engine':10} workers case                              seconds  texts/s  texts/s without start")
    for row in rows:
        rate = row.get("summary", {}).get("rows_per_second", "")
        # A run that continues one that was killed computes only a part of the texts.
        whole = "" if "files_there" in row else f"{count / row['seconds']:.0f}"
        bits = {True: "same bits", False: "DIFFERENT"}.get(row.get("same_bits"), "")
        print(f"{row['engine']:10} {row['workers']:7} {row['case']:32} {row['seconds']:8.1f} "
              f"{whole:>8}  {rate!s:>21}  {bits}")


def main():
    arguments = options()
    texts = texts_of(arguments.texts, arguments.count)
    workers = [int(number) for number in arguments.workers.split(",")]
    rows, failures = [], []
    with tempfile.TemporaryDirectory(prefix="bulk-") as folder:
        scratch = pathlib.Path(folder)
        write_data(scratch / "in", texts)
        for threads in workers:
            expected, seconds = command_line_vectors(arguments.model, texts, scratch, threads)
            rows.append({"engine": "linformer", "workers": threads, "case": "threads", "seconds": seconds})
        for engine in arguments.engines.split(","):
            runs = Runs(engine, arguments, scratch, expected)
            for number in workers:
                runs.check("whole run", number, runs.run(number))
            runs.test_killed_worker(max(workers))
            runs.test_restart(max(workers))
            runs.test_error(max(workers))
            rows += runs.rows
            failures += runs.failures
            if runs.failures:
                print(runs.log.read_text(encoding="utf-8", errors="replace")[-4000:], file=sys.stderr)
    print_table(rows, arguments.count)
    for text in failures:
        print(text, file=sys.stderr)
    if arguments.json:
        pathlib.Path(arguments.json).write_text(json.dumps({"count": arguments.count, "rows": rows}, indent=1))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
