#!/usr/bin/env python3
"""Embeds, classifies, tags or reranks the texts of Parquet files with Ray Data.

Each file of the results has some rows of one input file, with the columns that were added. Actors compute these files,
and Ray's progress bars and dashboard show how many are finished.
"""
import json
import pickle
from dataclasses import asdict

import ray

from linformer_cpp.bulk import job as jobs
from linformer_cpp.bulk import options, work

EXAMPLES = """examples:
  python3 ray_job.py --task embed --model minilm.lnfr --input docs/ --output vectors/
  ray job submit -- python3 ray_job.py --address auto --threads 4 --workers 25 --send-model --task classify \\
    --model sentiment.lnfr --input s3://bucket/reviews --output s3://bucket/labelled --field body
"""


class Worker:
    """An actor of Ray, which is a process that has loaded the model."""

    def __init__(self, settings, model, threads, output, model_ref):
        self._settings, self._threads, self._output = settings, threads, output
        self._model = model
        if model_ref is not None:
            self._model = work.save_received_model(lambda: ray.get(model_ref), settings.model_hash)

    def __call__(self, row):
        unit = pickle.loads(row["unit"])
        return asdict(work.compute(unit, self._settings, self._model, self._threads, self._output))


def main():
    parser = options.parser(__doc__, EXAMPLES)
    parser.add_argument("--address", help="address of a cluster; without it Ray starts one on this machine")
    parser.add_argument("--workers", type=int, help="number of actors (as many as the cluster's cores allow)")
    arguments = parser.parse_args()
    job = jobs.prepare(arguments)
    ray.init(address=arguments.address)
    progress = jobs.Progress(job)
    if job.units:
        model_ref = None
        if arguments.send_model:
            with open(job.model, "rb") as file:
                model_ref = ray.put(file.read())
        workers = arguments.workers or max(1, int(ray.cluster_resources().get("CPU", 1)) // job.threads)
        units = ray.data.from_items([{"unit": pickle.dumps(unit)} for unit in job.units],
                                    override_num_blocks=len(job.units))
        done = units.map(Worker, num_cpus=job.threads, concurrency=(1, min(workers, len(job.units))),
                         fn_constructor_args=(job.settings, job.model, job.threads, job.output, model_ref))
        for row in done.iter_rows():
            progress.add(work.Report(**row))
    print(json.dumps(jobs.finish(job, progress.seconds)))


if __name__ == "__main__":
    jobs.run(main)
