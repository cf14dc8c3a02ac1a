"""Tests that the results of every task equal those of the program."""
import numpy as np
import pytest

import linformer_cpp as lin

TEXTS = ["the old sailor sings in Oslo .", "no", "", "a long train runs , the river sleeps !", "Berlin " * 60]


def test_vectors_are_the_programs(made, said, tmp_path):
    embedder = lin.Embedder(made("embedding"))
    vectors = embedder.encode(TEXTS)
    assert vectors.shape == (5, 32) and vectors.dtype == np.float32
    for text, vector, line in zip(TEXTS, vectors, said("embed", embedder.model.path, "--json", *TEXTS)):
        np.testing.assert_array_equal(vector, np.array(line["embedding"], np.float32), text)


def test_a_vector_depends_on_its_text_alone(made):
    embedder = lin.Embedder(made("embedding"))
    vectors = embedder.encode(TEXTS)
    for text, vector in zip(TEXTS, vectors):
        np.testing.assert_array_equal(embedder.encode(text), vector)
    np.testing.assert_array_equal(lin.Embedder(made("embedding"), threads=3).encode(TEXTS * 20)[-5:], vectors)
    np.testing.assert_array_equal(np.array(list(embedder.encode(iter(TEXTS)))), vectors)


def test_prompts_and_lengths(made):
    embedder = lin.Embedder(made("embedding"))
    assert embedder.prompts == {"query": "who is ", "document": ""}
    np.testing.assert_array_equal(embedder.encode_query("Ada"), embedder.encode("who is Ada"))
    np.testing.assert_array_equal(embedder.encode("Ada", prompt_name="query"), embedder.encode("Ada", prompt="who is "))
    with pytest.raises(lin.InvalidArgument, match="query"):
        embedder.encode("Ada", prompt_name="no such")
    unit = embedder.encode(TEXTS, normalize_embeddings=True)
    np.testing.assert_allclose(np.linalg.norm(unit, axis=1), 1, atol=1e-6)
    bits = embedder.encode(TEXTS, precision="ubinary")
    np.testing.assert_array_equal(np.unpackbits(bits, axis=1), embedder.encode(TEXTS) > 0)
    np.testing.assert_array_equal(embedder.encode(TEXTS, precision="binary"), bits.astype(np.int16) - 128)
    cut = embedder.encode(TEXTS, truncate_dim=8)
    np.testing.assert_array_equal(cut, embedder.encode(TEXTS)[:, :8])
    np.testing.assert_allclose(embedder.similarity(unit, unit).diagonal(), 1, atol=1e-6)


def test_classes_are_the_programs(made, said):
    classifier = lin.Classifier(made("classifier"))
    assert classifier.labels == ["bad", "fair", "good"]
    lines = said("classify", classifier.model.path, "--json", *TEXTS)
    for found, line in zip(classifier(TEXTS, top_k=None), lines):
        assert sum(entry["score"] for entry in found) == pytest.approx(1)
        expected = {entry["label"]: np.float32(entry["probability"]) for entry in line["scores"]}
        assert {entry["label"]: np.float32(entry["score"]) for entry in found} == expected
    best = classifier(TEXTS)
    assert [entry["label"] for entry in best] == [found[0]["label"] for found in classifier(TEXTS, top_k=3)]
    logits = np.array([[entry["score"] for entry in sorted(found, key=lambda e: e["label"])]
                       for found in classifier(TEXTS, top_k=None, function_to_apply="none")])
    np.testing.assert_array_equal(logits, classifier.logits(TEXTS))
    softmax = classifier(TEXTS, function_to_apply="softmax")
    assert [e["score"] for e in softmax] == pytest.approx([e["score"] for e in best], abs=1e-6)


def test_pairs(made, said):
    classifier = lin.Classifier(made("classifier"))
    pair = {"text": "the film was good", "text_pair": "was the film bad ?"}
    assert classifier(pair) == classifier([pair]) == classifier([("the film was good", "was the film bad ?")])
    assert classifier(pair) != classifier("the film was good")
    with pytest.raises(ValueError, match="second text"):
        classifier([pair, "alone"])


def test_ranks(made):
    reranker = lin.Reranker(made("reranker"))
    documents = [text for text in TEXTS if text]
    ranked = reranker.rank("who sings in Oslo ?", documents, return_documents=True)
    scores = reranker.predict([("who sings in Oslo ?", text) for text in documents])
    assert sorted(entry["corpus_id"] for entry in ranked) == list(range(len(documents)))
    assert [entry["score"] for entry in ranked] == sorted(scores.tolist(), reverse=True)
    assert all(entry["text"] == documents[entry["corpus_id"]] for entry in ranked)
    assert reranker.rank("who", documents, top_k=1) == reranker.rank("who", documents)[:1]
    assert reranker.rank("who", []) == []


@pytest.mark.parametrize("strategy", ["simple", "none", "first", "average", "max"])
def test_entities_are_the_programs(made, said, strategy):
    tagger = lin.Tagger(made("tagger"), aggregation_strategy=strategy)
    found = tagger(TEXTS)
    assert any(found)
    lines = said("tag", tagger.model.path, "--json", "--aggregation", strategy, *TEXTS)
    for text, entities, line in zip(TEXTS, found, lines):
        assert [(e["word"], e["start"], e["end"]) for e in entities] == [
            (e["text"], e["start"], e["end"]) for e in line["entities"]]
        assert all(text[e["start"]:e["end"]] == e["word"] for e in entities)
    assert tagger(TEXTS[0]) == found[0]


@pytest.mark.parametrize("top_k", [1, 3])
def test_answers_are_the_programs(made, said, top_k):
    answerer = lin.Answerer(made("answerer"), top_k=top_k)
    question, context = "who sings ?", "the old sailor sings in Oslo . " * 12
    found = answerer(question=question, context=context)
    assert answerer([{"question": question, "context": context}] * 2) == [found, found]
    assert answerer({"question": question, "context": context}) == found
    entries = [found] if top_k == 1 else found
    line, = said("answer", answerer.model.path, "--json", "--top-k", top_k, "--question", question, context)
    assert [(e["answer"], e["start"], e["end"]) for e in entries] == [
        (e["text"], e["start"], e["end"]) for e in line["answers"]]
    assert [np.float32(e["score"]) for e in entries] == [np.float32(e["score"]) for e in line["answers"]]
    assert all(context[e["start"]:e["end"]] == e["answer"] for e in entries)


def test_masks(made, said):
    filler = lin.FillMask(made("masked"), top_k=4)
    assert filler.mask_token == "[MASK]"
    found = filler("the [MASK] sings .")
    assert len(found) == 4 and found[0]["score"] >= found[3]["score"]
    words = [entry for entry in found if not entry["token_str"].startswith("[")]
    assert words and all(entry["token_str"] in entry["sequence"] for entry in words)
    assert [len(mask) for mask in filler("[MASK] sings in [MASK]")] == [4, 4]
    with pytest.raises(lin.LinformerError, match="mask"):
        filler("no mask here")


def test_tokens(made):
    tokenizer = lin.Tokenizer(made("masked"))
    encoding = tokenizer("the sailor sings .")
    assert tokenizer.decode(encoding.ids) == "[CLS] the sailor sings. [SEP]"
    assert ["the sailor sings ."[a:b] for a, b in encoding.offsets][1:-1] == ["the", "sailor", "sings", "."]
    assert len(tokenizer("the " * 100, max_length=10)) == 10 and tokenizer("the " * 100, max_length=10).total == 102


def test_hidden_rows(made):
    encoder = lin.Encoder(made("embedding"))
    rows = encoder.hidden(["the sailor sings", "no"])
    assert [row.shape for row in rows] == [(5, 32), (3, 32)]
    np.testing.assert_allclose(rows[0].mean(axis=0), lin.Embedder(made("embedding")).encode("the sailor sings"),
                               atol=1e-5)


def test_wrong_arguments(made):
    embedder = lin.Embedder(made("embedding"))
    with pytest.raises(TypeError, match="text 1 is 3"):
        embedder.encode(["a", 3])
    with pytest.raises(ValueError, match="'auto'"):
        lin.Embedder(made("embedding"), compute="fast")
    with pytest.raises(TypeError):
        lin.Embedder(made("embedding"), no_such_option=1)
    with pytest.raises(TypeError, match="normalise"):
        embedder.encode("a", normalise=True)
    with pytest.raises(TypeError, match="topk"):
        lin.Classifier(made("classifier"))("a", topk=2)
    with pytest.raises(ValueError, match="no head"):
        lin.Classifier(made("classifier"), head="other")
    with pytest.raises(lin.LinformerError):
        lin.Classifier(made("embedding"))
    assert embedder.encode("\ud800 Ada").shape == (32,)
    assert embedder.encode([]).shape == (0, 32)
