"""Tests that annotators add results to the tables of every engine, and a reason to bad rows."""
import pickle

import numpy as np
import pytest

import linformer_cpp as lin
from linformer_cpp.bulk import Annotator

TEXTS = ["the old sailor sings in Oslo .", "no", "a long train runs ."]


@pytest.fixture(scope="module")
def embed(made):
    return Annotator(lin.Embedder(made("embedding")), field="body")


def test_dicts(made, embed):
    found = embed({"id": [1, 2, 3], "body": TEXTS})
    assert list(found) == ["id", "body", "embedding", "error"] == ["id", "body", *embed.columns]
    np.testing.assert_array_equal(found["embedding"], lin.Embedder(made("embedding")).encode(TEXTS))
    assert list(found["error"]) == [None] * 3
    batches = embed(iter([{"body": TEXTS[:1]}, {"body": np.array(TEXTS[1:])}]))
    np.testing.assert_array_equal(np.concatenate([batch["embedding"] for batch in batches]), found["embedding"])
    with pytest.raises(ValueError, match="prefix"):
        embed({"body": TEXTS, "error": TEXTS})
    named = Annotator(lin.Embedder(made("embedding")), field="body", prefix="v_", normalize_embeddings=True)
    assert named.columns == ["v_embedding", "v_error"]
    np.testing.assert_allclose(np.linalg.norm(named({"body": TEXTS})["v_embedding"], axis=1), 1, atol=1e-6)


def test_bad_rows_are_kept(made):
    annotate = Annotator(lin.Embedder(made("embedding"), on_long="error"))
    texts = ["no", None, float("nan"), 7, "Berlin " * 60, "good"]
    found = annotate({"text": texts})
    assert [vector is not None for vector in found["embedding"]] == [True, False, False, False, False, True]
    assert list(found["error"][1:4]) == ["the text is null", "the text is null", "the text is of the type int"]
    assert "48" in found["error"][4] and found["error"][0] is None
    np.testing.assert_array_equal(found["embedding"][5], lin.Embedder(made("embedding")).encode("good"))


def test_classes_scores_and_entities(made):
    classifier = lin.Classifier(made("classifier"))
    found = Annotator(classifier, all_scores=True)({"text": TEXTS})
    assert list(found["label"]) == [entry["label"] for entry in classifier(TEXTS)]
    np.testing.assert_array_equal(found["scores"], classifier.predict_proba(TEXTS))
    np.testing.assert_array_equal(found["score"], found["scores"].max(axis=1))
    pairs = [("the film was good", "was the film bad ?")] * 2
    table = {"a": [first for first, _ in pairs], "b": [second for _, second in pairs]}
    np.testing.assert_array_equal(Annotator(lin.Reranker(made("reranker")), "a", "b")(table)["score"],
                                  lin.Reranker(made("reranker")).predict(pairs))
    assert list(Annotator(classifier, "a", "b")(table)["label"]) == [entry["label"] for entry in classifier(pairs)]
    tagger = lin.Tagger(made("tagger"))
    for entities, expected in zip(Annotator(tagger)({"text": TEXTS})["entities"], tagger(TEXTS)):
        assert [(e["label"], e["score"], e["word"], e["start"], e["end"]) for e in entities] == [
            (e["entity_group"], e["score"], e["word"], e["start"], e["end"]) for e in expected]


def test_wrong_options(made):
    with pytest.raises(TypeError, match="FillMask"):
        Annotator(lin.FillMask(made("masked")))
    with pytest.raises(TypeError, match="normalize"):
        Annotator(lin.Classifier(made("classifier")), normalize=True)
    with pytest.raises(TypeError, match="table"):
        Annotator(lin.Classifier(made("classifier")))(3)


def test_pickled_annotators_share_a_task(embed):
    copies = [pickle.loads(pickle.dumps(embed)) for _ in range(2)]
    np.testing.assert_array_equal(copies[0]({"body": TEXTS})["embedding"], embed({"body": TEXTS})["embedding"])
    assert copies[0]._columns.task is copies[1]._columns.task


def test_pandas(made, embed):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"id": [3, 4, 5], "body": [TEXTS[0], None, TEXTS[2]]}, index=[7, 8, 9])
    found = embed(frame)
    expected = lin.Embedder(made("embedding")).encode(TEXTS)
    assert list(found.index) == [7, 8, 9] and list(found.columns) == ["id", "body", "embedding", "error"]
    np.testing.assert_array_equal(found["embedding"][7], expected[0])
    assert found["embedding"][8] is None and found["error"][8] == "the text is null"
    np.testing.assert_array_equal(list(embed(frame["body"].dropna())), expected[[0, 2]])
    assert list(Annotator(lin.Classifier(made("classifier")), "body")(frame)["label"].isna()) == [False, True, False]


def test_arrow_and_polars(made, embed):
    pa = pytest.importorskip("pyarrow")
    expected = lin.Embedder(made("embedding")).encode(TEXTS)
    table = pa.table({"body": [*TEXTS, None]})
    found = embed(table)
    assert found.schema.equals(embed.schema(table.schema))
    np.testing.assert_array_equal(found["embedding"].to_pylist()[:3], expected)
    assert found["embedding"].to_pylist()[3] is None and found["error"].to_pylist()[3] == "the text is null"
    batch = embed(table.to_batches()[0])
    assert isinstance(batch, pa.RecordBatch) and batch.schema.equals(found.schema)
    batch, = embed(iter(table.to_batches()))
    assert batch.schema.field("embedding").type == pa.list_(pa.float32())
    assert batch["embedding"].to_pylist() == found["embedding"].to_pylist()
    tags = Annotator(lin.Tagger(made("tagger")), "body")(table)
    assert tags["entities"].to_pylist()[3] is None
    pl = pytest.importorskip("polars")
    frame = embed(pl.DataFrame({"body": TEXTS}))
    assert frame.schema["embedding"] == pl.Array(pl.Float32, 32)
    np.testing.assert_array_equal(frame["embedding"].to_numpy(), expected)
    np.testing.assert_array_equal(embed(pl.Series("body", TEXTS)).to_numpy(), expected)
