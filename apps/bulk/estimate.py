#!/usr/bin/env python3
"""Estimates how long a run of spark_job.py or ray_job.py takes, and how much memory and storage it needs.

The program computes a sample of the input on this machine, in as many processes as the machine has cores for, and
scales the measured rate to the whole input. It assumes that a core of the cluster is as fast as a core of this machine.
It needs Linux, because it reads /proc/self/status.
"""
import json
import multiprocessing
import os
import pathlib
import tempfile
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from linformer_cpp.bulk import job as jobs
from linformer_cpp.bulk import options, work
from linformer_cpp.bulk.reading import batches
from linformer_cpp.bulk.sources import Source, sources
from linformer_cpp.bulk.units import Unit
from linformer_cpp.model import load

EXAMPLES = """examples:
  python3 estimate.py --task embed --model minilm.lnfr --input docs/ --nodes 100 --cores 16
  python3 estimate.py --task embed --model minilm.lnfr --input sample/ --rows 1000000000 --nodes 100 --cores 16
"""

#: The sample is taken from at most this many files.
SAMPLED_FILES = 8

#: The number of equal parts into which the sample is divided, ordered by text length.
LENGTH_GROUPS = 4


class Measurement(NamedTuple):
    """The time of a unit in seconds, the bytes of its file, and the largest resident memory of its process in bytes."""
    seconds: float
    written: int
    memory: int


def sample_of(files, counts, size):
    """Returns a table with the first rows of files that are evenly spaced in the input."""
    filled = [number for number, count in enumerate(counts) if count]
    number_of_files = min(SAMPLED_FILES, len(filled))
    chosen = [filled[index * len(filled) // number_of_files] for index in range(number_of_files)]
    parts, left = [], size
    # Small files come first, so that larger files can give the rows that small files lack.
    for position, number in enumerate(sorted(chosen, key=counts.__getitem__)):
        rows = min(-(-left // (len(chosen) - position)), counts[number])
        parts += [pa.Table.from_batches([batch]) for batch in batches(files[number], 0, rows, 4096)]
        left -= rows
    if not parts:
        raise ValueError("the input has no rows")
    return pa.concat_tables(parts, promote_options="permissive")


def measure_unit(arguments):
    """Computes a unit, after some of its rows to warm up."""
    unit, settings, model, threads, output = arguments
    with tempfile.TemporaryDirectory() as scratch:
        work.compute(Unit(unit.source, 0, min(unit.rows, 64)), settings, model, threads, scratch)
    report = work.compute(unit, settings, model, threads, output)
    lines = pathlib.Path("/proc/self/status").read_text().splitlines()
    memory = next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM:"))
    return Measurement(report.seconds, os.path.getsize(os.path.join(output, unit.name)), memory)


def measure(pool, tables, settings, model, threads, scratch):
    """Computes tables at the same time, each as one unit. Returns their measurements."""
    units = []
    for table in tables:
        descriptor, path = tempfile.mkstemp(suffix=".parquet", dir=scratch)
        os.close(descriptor)
        pq.write_table(table, path)
        units.append(Unit(Source(path, path, os.path.getsize(path)), 0, table.num_rows))
    output = tempfile.mkdtemp(dir=scratch)
    return pool.map(measure_unit, [(unit, settings, model, threads, output) for unit in units], chunksize=1)


def parts_of(table, count):
    """Divides the table into up to ``count`` equal parts."""
    rows = -(-table.num_rows // count)
    return [table.slice(begin, rows) for begin in range(0, table.num_rows, rows)]


def main():
    parser = options.parser(__doc__, EXAMPLES, output=False)
    parser.add_argument("--rows", type=int,
                        help="rows of the whole input, if --input is only a part of it; the estimate then assumes "
                             "that its files have at least --unit-rows")
    parser.add_argument("--nodes", type=int, default=1, help="machines of the cluster (1)")
    parser.add_argument("--cores", type=int, default=os.cpu_count(), help="cores of a machine (those of this one)")
    parser.add_argument("--sample", type=int, default=20_000, help="rows to compute here (20000)")
    arguments = parser.parse_args()
    threads = arguments.threads
    model = os.path.abspath(load(arguments.model, arguments.dtype).path)
    settings = options.settings_of(arguments, model)
    files = sources(arguments.input, arguments.format)
    counts = jobs.check_files(files, work.cached_annotator(settings, model, threads))
    sample = sample_of(files, counts, arguments.sample)
    lengths = pc.fill_null(pc.utf8_length(sample[settings.field].cast(pa.string())), 0)
    workers = max(1, min(arguments.cores, os.cpu_count()) // threads)
    with tempfile.TemporaryDirectory() as scratch, multiprocessing.get_context("spawn").Pool(workers) as pool:
        measurements, by_length = (measure(pool, parts_of(table, count), settings, model, threads, scratch)
                                   for table, count in ((sample, workers),
                                                        (sample.take(pc.sort_indices(lengths)), LENGTH_GROUPS)))
    per_core = sample.num_rows / sum(entry.seconds for entry in measurements) / threads
    bytes_per_row = sum(entry.written for entry in measurements) / sample.num_rows
    memory = max(entry.memory for entry in measurements) / 1e6
    seconds_by_length = [entry.seconds for entry in by_length]
    mean_seconds = sum(seconds_by_length) / len(by_length)
    rows = arguments.rows or sum(counts)
    output_files = sum(-(-count // arguments.unit_rows) for count in ([rows] if arguments.rows else counts))
    per_second = per_core * arguments.cores * arguments.nodes
    print(json.dumps({
        "rows": rows,
        "sample_rows": sample.num_rows,
        "rows_per_second_and_core": round(per_core, 1),
        "rows_per_second": round(per_second, 1),
        "hours": round(rows / per_second / 3600, 3),
        "core_hours": round(rows / per_core / 3600, 1),
        "output_files": output_files,
        "seconds_per_output_file": round(rows / output_files / (per_core * threads), 1),
        "output_bytes_per_row": round(bytes_per_row, 1),
        "output_gigabytes": round(rows * bytes_per_row / 1e9, 2),
        "worker_memory_megabytes": round(memory, 1),
        "node_memory_megabytes": round(memory * (arguments.cores // threads), 1),
        "relative_time_by_length_group": [round(seconds / mean_seconds, 2) for seconds in seconds_by_length],
        "relative_time_sorted_by_length": round(sum(seconds_by_length) * per_core * threads / sample.num_rows, 3),
    }, indent=1))


if __name__ == "__main__":
    jobs.run(main)
