"""Tables in, tables with a task's results out: for Spark, Ray Data, Dask, Polars, pandas and Arrow.

    from linformer_cpp import Embedder
    from linformer_cpp.bulk import Annotator
    annotate = Annotator(Embedder("minilm.lnfr", threads=2), field="text")
    frame.mapInPandas(annotate, annotate.spark_schema(frame.schema))      # Spark
    dataset.map_batches(annotate, batch_format="pyarrow")                 # Ray Data

The programs of apps/bulk use the rest of this package: ``sources`` finds Parquet files, ``units`` divides them,
``work`` computes one unit, and ``job`` keeps what a run has done so that another one can go on.
"""
from .annotator import Annotator

__all__ = ["Annotator"]
