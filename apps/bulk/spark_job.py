#!/usr/bin/env python3
"""Embeds, classifies, tags or reranks the texts of Parquet files with Spark.

Each file of the results has some rows of one input file, with the columns that were added. Each task of Spark computes
one of these files, and Spark's web interface shows how many are finished.
"""
import json
import os
import threading

from pyspark import SparkFiles
from pyspark.sql import SparkSession

from linformer_cpp.bulk import job as jobs
from linformer_cpp.bulk import options, work

EXAMPLES = """examples:
  spark-submit spark_job.py --task embed --model minilm.lnfr --input docs/ --output vectors/
  spark-submit --conf spark.task.cpus=4 spark_job.py --threads 4 --send-model --task classify --model sentiment.lnfr \\
    --input s3://bucket/reviews --output s3://bucket/labelled --field body
"""


def partition_function(settings, model, threads, output, model_is_sent, counts):
    """Returns the function that a task of Spark calls with its units."""
    def compute(units):
        path = SparkFiles.get(os.path.basename(model)) if model_is_sent else model
        for unit in units:
            report = work.compute(unit, settings, path, threads, output)
            for counter, number in zip(counts, (1, report.rows, report.bad)):
                counter.add(number)
            yield report

    return compute


def main():
    arguments = options.parser(__doc__, EXAMPLES).parse_args()
    job = jobs.prepare(arguments)
    builder = SparkSession.builder.appName(f"linformer {arguments.task} {arguments.input}")
    spark = builder.config("spark.task.cpus", arguments.threads).getOrCreate()
    context = spark.sparkContext
    if int(context.getConf().get("spark.task.cpus", "1")) != arguments.threads:
        raise ValueError(f"--threads is {arguments.threads}, and this Spark session gives a task a different number of "
                         f"cores; start it with spark-submit --conf spark.task.cpus={arguments.threads}")
    if arguments.send_model:
        context.addFile(job.model)
    progress = jobs.Progress(job)
    if job.units:
        counts = [context.accumulator(0) for _ in range(3)]
        compute = partition_function(job.settings, job.model, job.threads, job.output, arguments.send_model, counts)
        context.setJobDescription(f"{len(job.units)} files of {job.rows:,} texts")
        ended = threading.Event()

        def show_progress():
            while not ended.wait(0.5):
                progress.show(*(counter.value for counter in counts))

        watcher = threading.Thread(target=show_progress, daemon=True)
        watcher.start()
        try:
            reports = context.parallelize(job.units, len(job.units)).mapPartitions(compute).collect()
        finally:
            ended.set()
            watcher.join()
        progress.show(len(reports), sum(report.rows for report in reports), sum(report.bad for report in reports))
    print(json.dumps(jobs.finish(job, progress.seconds)))
    spark.stop()


if __name__ == "__main__":
    jobs.run(main)
