#!/usr/bin/env python3
"""Tests linformer_cpp.bulk.Annotator in Spark's mapInPandas, mapInArrow and iterator UDFs, and in Ray Data.

    python3 tests/bulk/annotator_test.py MODEL.lnfr    # an embedding model

The exit code is 77 if neither Spark nor Ray is installed.
"""
import importlib.util
import os
import sys
from collections.abc import Iterator

import numpy as np
import pandas as pd

from linformer_cpp import Embedder
from linformer_cpp.bulk import Annotator

TEXTS = [f"the sailor {number} sings" for number in range(200)] + [None]


def check(name, ids, vectors, expected):
    assert sorted(ids) == list(range(len(TEXTS))), f"{name}: rows are missing or duplicated"
    for row, vector in zip(ids, vectors):
        if TEXTS[row] is None:
            assert vector is None, f"{name}: a null text has a vector"
        else:
            np.testing.assert_array_equal(np.array(vector, np.float32), expected[row], name)
    print(f"{name}: {len(ids)} rows, the same bits")


def in_spark(annotate, frame, expected):
    from pyspark.sql import SparkSession
    from pyspark.sql.functions import pandas_udf
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    spark = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
    spark_frame = spark.createDataFrame(frame).repartition(4)
    schema = annotate.spark_schema(spark_frame.schema)
    for name in ("mapInPandas", "mapInArrow"):
        rows = getattr(spark_frame, name)(annotate, schema).collect()
        check(f"Spark {name}", [row.id for row in rows], [row.embedding for row in rows], expected)

    @pandas_udf("array<float>")
    def embed(batches: Iterator[pd.Series]) -> Iterator[pd.Series]:
        return annotate(batches)

    rows = spark_frame.select("id", embed("text").alias("embedding")).collect()
    check("Spark iterator UDF", [row.id for row in rows], [row.embedding for row in rows], expected)
    spark.stop()


def in_ray(annotate, frame, expected):
    import ray
    ray.init(num_cpus=2, include_dashboard=False)
    rows = ray.data.from_pandas(frame).map_batches(annotate, batch_size=64, batch_format="pyarrow").take_all()
    check("Ray Data map_batches", [row["id"] for row in rows], [row["embedding"] for row in rows], expected)
    ray.shutdown()


def main():
    annotate = Annotator(Embedder(sys.argv[1]))
    frame = pd.DataFrame({"id": range(len(TEXTS)), "text": TEXTS})
    expected = Embedder(sys.argv[1]).encode([text or "" for text in TEXTS])
    tested = 0
    for library, function in (("pyspark", in_spark), ("ray", in_ray)):
        if importlib.util.find_spec(library) is None:
            print(f"skipped: {library} isn't installed")
        else:
            function(annotate, frame, expected)
            tested += 1
    return 0 if tested else 77


if __name__ == "__main__":
    sys.exit(main())
