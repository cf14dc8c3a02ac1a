"""Tests the package inside other libraries. A test is skipped if its library is missing."""
import numpy as np
import pytest

import linformer_cpp as lin

TEXTS = ["the old sailor sings in Oslo .", "no", "a long train runs ."]


@pytest.fixture
def embedder(made):
    return lin.Embedder(made("embedding"))


@pytest.fixture
def unit_vectors(embedder):
    return embedder.encode(TEXTS, normalize_embeddings=True)


def test_sentence_transformers(made, embedder, tmp_path):
    library = pytest.importorskip("sentence_transformers")
    from linformer_cpp.integrations.sentence_transformers import LinformerModule
    model = library.SentenceTransformer(modules=[LinformerModule(made("embedding"), threads=2)], device="cpu")
    np.testing.assert_array_equal(model.encode(TEXTS), embedder.encode(TEXTS))
    vectors = model.encode(TEXTS)
    np.testing.assert_allclose(model.similarity(vectors, vectors).numpy().diagonal(), 1, atol=1e-6)
    model.save(str(tmp_path / "saved"))
    reloaded = library.SentenceTransformer(str(tmp_path / "saved"), device="cpu", trust_remote_code=True)
    np.testing.assert_array_equal(reloaded.encode(TEXTS), embedder.encode(TEXTS))


def test_langchain(made, unit_vectors):
    pytest.importorskip("langchain_core")
    from langchain_core.vectorstores import InMemoryVectorStore
    from linformer_cpp.integrations.langchain import LinformerEmbeddings
    embeddings = LinformerEmbeddings(made("embedding"))
    np.testing.assert_array_equal(np.array(embeddings.embed_documents(TEXTS), np.float32), unit_vectors)
    store = InMemoryVectorStore(embeddings)
    store.add_texts(TEXTS)
    assert len(store.similarity_search("who sings", k=2)) == 2


def test_llama_index(made, unit_vectors):
    pytest.importorskip("llama_index.core")
    from linformer_cpp.integrations.llama_index import LinformerEmbedding
    model = LinformerEmbedding(made("embedding"))
    np.testing.assert_array_equal(np.array(model.get_text_embedding_batch(TEXTS), np.float32), unit_vectors)
    assert len(model.get_query_embedding("Ada")) == 32


def test_chroma(made, unit_vectors):
    chromadb = pytest.importorskip("chromadb")
    from linformer_cpp.integrations.chroma import LinformerEmbeddingFunction
    collection = chromadb.EphemeralClient().create_collection(
        "texts", embedding_function=LinformerEmbeddingFunction(made("embedding").path, threads=2))
    collection.add(ids=["0", "1", "2"], documents=TEXTS)
    assert collection.query(query_texts=[TEXTS[1]], n_results=1)["ids"] == [["1"]]
    np.testing.assert_array_equal(collection.get(ids=["0"], include=["embeddings"])["embeddings"][0], unit_vectors[0])


def test_sklearn(made, unit_vectors):
    pytest.importorskip("sklearn")
    from sklearn.base import clone
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from linformer_cpp.integrations.sklearn import TextClassifier, TextVectors
    vectors = TextVectors(made("embedding").path)
    np.testing.assert_array_equal(clone(vectors).fit_transform(TEXTS), unit_vectors)
    pipeline = make_pipeline(vectors, LogisticRegression()).fit(TEXTS * 5, [1, 0, 1] * 5)
    assert pipeline.predict(TEXTS).shape == (3,)
    classifier = TextClassifier(made("classifier").path)
    assert list(classifier.fit(TEXTS, None).predict(TEXTS)) == [
        entry["label"] for entry in lin.Classifier(made("classifier"))(TEXTS)]


def test_joblib(embedder):
    joblib = pytest.importorskip("joblib")
    found = joblib.Parallel(n_jobs=2)(joblib.delayed(embedder.encode)([text]) for text in TEXTS)
    np.testing.assert_array_equal(np.concatenate(found), embedder.encode(TEXTS))


def test_polars(made, embedder):
    pl = pytest.importorskip("polars")
    from linformer_cpp.integrations.polars import classify, embed
    frame = pl.DataFrame({"text": [*TEXTS, None]}).with_columns(
        vector=embed(pl.col("text"), embedder), label=classify(pl.col("text"), lin.Classifier(made("classifier"))))
    np.testing.assert_array_equal(frame["vector"][:3].to_numpy(), embedder.encode(TEXTS))
    assert frame["vector"][3] is None and frame["label"].null_count() == 1


def test_duckdb(made, embedder):
    duckdb = pytest.importorskip("duckdb")
    pytest.importorskip("pyarrow")
    from linformer_cpp.integrations.duckdb import register
    connection = duckdb.connect()
    register(connection, embedder=embedder, classifier=lin.Classifier(made("classifier")))
    connection.execute("CREATE TABLE texts (id INTEGER, text VARCHAR)")
    connection.executemany("INSERT INTO texts VALUES (?, ?)", [*enumerate(TEXTS), (3, None)])
    rows = connection.sql("SELECT classify(text), embed(text) FROM texts ORDER BY id").fetchall()
    assert [row[0] for row in rows[:3]] == [entry["label"] for entry in lin.Classifier(made("classifier"))(TEXTS)]
    np.testing.assert_array_equal(np.array([row[1] for row in rows[:3]], np.float32), embedder.encode(TEXTS))
    assert rows[3] == (None, None)


def test_dask(made, embedder):
    dask = pytest.importorskip("dask.dataframe")
    pd = pytest.importorskip("pandas")
    from linformer_cpp.bulk import Annotator
    annotate = Annotator(embedder)
    frame = dask.from_pandas(pd.DataFrame({"text": TEXTS}), npartitions=2)
    meta = annotate(pd.DataFrame({"text": pd.Series([], dtype=object)}))
    found = frame.map_partitions(annotate, meta=meta).compute(scheduler="processes")
    np.testing.assert_array_equal(np.array(list(found["embedding"])), embedder.encode(TEXTS))
