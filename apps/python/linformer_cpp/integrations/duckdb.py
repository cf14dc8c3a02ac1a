"""SQL functions for DuckDB.

    from linformer_cpp.integrations.duckdb import register
    register(connection, embedder=embedder, classifier=classifier)
    connection.sql("SELECT classify(text) AS label, embed(text) AS vector FROM reviews")
"""
import duckdb
import pyarrow


def register(connection, embedder=None, classifier=None, embed_name="embed", classify_name="classify"):
    """Creates the function ``embed(VARCHAR) -> FLOAT[d]`` for an ``Embedder``, and ``classify(VARCHAR) -> VARCHAR`` for
    a ``Classifier``. The functions take many rows in one call, as Arrow arrays. The result of NULL is NULL."""
    if embedder is not None:
        width = embedder.get_sentence_embedding_dimension()

        def embed(texts):
            values = texts.combine_chunks() if hasattr(texts, "combine_chunks") else texts
            vectors = embedder.encode(values.to_pylist())
            return pyarrow.FixedSizeListArray.from_arrays(pyarrow.array(vectors.reshape(-1)), width)

        connection.create_function(embed_name, embed, ["VARCHAR"], duckdb.array_type("FLOAT", width), type="arrow")
    if classifier is not None:
        def classify(texts):
            return pyarrow.array([found["label"] for found in classifier(texts.to_pylist())])

        connection.create_function(classify_name, classify, ["VARCHAR"], "VARCHAR", type="arrow")
