"""Expressions for Polars.

    from linformer_cpp.integrations.polars import embed, classify
    frame.with_columns(vector=embed(pl.col("text"), embedder), label=classify(pl.col("text"), classifier))
"""
import numpy as np
import polars as pl


def embed(column, embedder, **options):
    """Returns a column of vectors (``pl.Array(pl.Float32, d)``) for a column of texts. The result of null is null."""
    width = embedder.get_sentence_embedding_dimension()

    def vectors(texts):
        given = texts.is_not_null()
        rows = np.zeros((len(texts), width), np.float32)
        rows[given.to_numpy()] = embedder.encode(texts.filter(given).to_list(), **options)
        found = pl.Series(texts.name, rows, pl.Array(pl.Float32, width))
        return pl.select(pl.when(given).then(found).alias(texts.name)).to_series()

    return column.map_batches(vectors, return_dtype=pl.Array(pl.Float32, width))


def classify(column, classifier):
    """Returns a column with the best label of each text. The result of null is null."""
    def labels(texts):
        given = texts.is_not_null()
        found = iter(classifier(texts.filter(given).to_list()))
        return pl.Series(texts.name, [next(found)["label"] if known else None for known in given], pl.String)

    return column.map_batches(labels, return_dtype=pl.String)
