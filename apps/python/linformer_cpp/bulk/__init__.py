"""Adds the results of a task to the tables of Spark, Ray Data, Dask, Polars, pandas and Arrow.

    from linformer_cpp import Embedder
    from linformer_cpp.bulk import Annotator
    annotate = Annotator(Embedder("minilm.lnfr", threads=2), field="text")
    frame.mapInPandas(annotate, annotate.spark_schema(frame.schema))      # Spark
    dataset.map_batches(annotate, batch_format="pyarrow")                 # Ray Data

The programs of apps/bulk use the other modules of this package: ``sources`` and ``tables`` find Parquet files,
``units`` divides them, ``work`` computes one unit, and ``job`` plans a run and finds the units that an earlier run has
finished.
"""
from .annotator import Annotator

__all__ = ["Annotator"]
