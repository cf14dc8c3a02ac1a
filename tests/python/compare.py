#!/usr/bin/env python3
"""Prints the largest differences between the results of this package and those of sentence-transformers and of the
pipelines of transformers, on small random models of each kind, in f32.

    python3 tests/python/compare.py [MODEL_FOLDER]    # also compares the sentence-transformers model of a folder

Needs torch, transformers and sentence-transformers. The exit code is 1 if a difference is larger than 2e-5.
"""
import pathlib
import sys
import tempfile

import numpy as np

import linformer_cpp as lin
import models

TEXTS = ["the old sailor sings in Oslo .", "no", "a long train runs , the river sleeps !", "was the city good ?",
         "Ada runs in Berlin and sings"]
LIMIT = 2e-5


def embeddings(folder, texts):
    from sentence_transformers import SentenceTransformer
    theirs = SentenceTransformer(str(folder), device="cpu")
    ours = lin.Embedder(folder)
    yield "encode", np.abs(theirs.encode(texts) - ours.encode(texts)).max()
    normalized = {"normalize_embeddings": True}
    yield "encode, normalised", np.abs(theirs.encode(texts, **normalized) - ours.encode(texts, **normalized)).max()
    vectors = ours.encode(texts)
    yield "similarity", np.abs(theirs.similarity(vectors, vectors).numpy() - ours.similarity(vectors, vectors)).max()
    if "query" in ours.prompts:
        yield "encode_query", np.abs(theirs.encode(texts, prompt_name="query") - ours.encode_query(texts)).max()


def rerankings(folder):
    from sentence_transformers import CrossEncoder
    theirs, ours = CrossEncoder(str(folder), device="cpu"), lin.Reranker(folder)
    pairs = [(TEXTS[0], text) for text in TEXTS]
    yield "predict", np.abs(theirs.predict(pairs) - ours.predict(pairs)).max()
    first, second = theirs.rank(TEXTS[0], TEXTS), ours.rank(TEXTS[0], TEXTS)
    yield "rank: order differs (0 or 1)", float([e["corpus_id"] for e in first] != [e["corpus_id"] for e in second])


def largest_difference(first, second, score="score"):
    """Returns the largest difference of ``score`` in two lists of dicts, or infinity if their lengths or other values
    that both have differ."""
    if len(first) != len(second):
        return float("inf")
    worst = 0.0
    for one, other in zip(first, second):
        for name in one.keys() & other.keys() - {score}:
            if one[name] != other[name]:
                return float("inf")
        worst = max(worst, abs(one[score] - other[score]))
    return worst


def without(names, entries):
    return [{name: value for name, value in entry.items() if name not in names} for entry in entries]


def pipelines(made):
    from transformers import pipeline

    def theirs(task, kind, **more):
        return pipeline(task, model=str(made(kind)), tokenizer=str(made(kind)), device=-1, **more)

    their_classifier, ours = theirs("text-classification", "classifier"), lin.Classifier(made("classifier"))
    yield "text-classification", largest_difference(their_classifier(TEXTS), ours(TEXTS))
    for top_k in (None, 2):
        yield f"text-classification, top_k={top_k}", max(
            largest_difference(a, b) for a, b in zip(their_classifier(TEXTS, top_k=top_k), ours(TEXTS, top_k=top_k)))
    pair = {"text": TEXTS[0], "text_pair": TEXTS[3]}
    yield "text-classification, a pair", largest_difference([their_classifier([pair])[0]], [ours([pair])[0]])
    for strategy in ("simple", "none", "first", "average", "max"):
        their_tagger = theirs("token-classification", "tagger", aggregation_strategy=strategy)
        ours = lin.Tagger(made("tagger"), aggregation_strategy=strategy)
        drop = ("word", "index")  # transformers joins tokens, but linformer_cpp copies the text.
        yield f"token-classification, {strategy}", max(
            largest_difference(without(drop, a), without(drop, b)) for a, b in zip(their_tagger(TEXTS), ours(TEXTS)))
    their_filler, ours = theirs("fill-mask", "masked", top_k=5), lin.FillMask(made("masked"), top_k=5)
    masked = [text.replace("sings", "[MASK]").replace("runs", "[MASK]") for text in (TEXTS[0], TEXTS[2])]
    drop = ("token_str", "sequence")
    yield "fill-mask", max(
        largest_difference(without(drop, a), without(drop, b)) for a, b in zip(their_filler(masked), ours(masked)))
    # Each candidate occurs only once in the context. transformers 4.57 adds the scores of equal answers, 4.40 does not.
    context = "the old sailor sings in Oslo . a long train runs and a river sleeps , no film was good"
    try:
        their_answerer = theirs("question-answering", "answerer", top_k=3)
    except KeyError:
        print("question-answering: this version of transformers has no such pipeline")
        return
    ours = lin.Answerer(made("answerer"), top_k=3)
    yield "question-answering, top_k=3", largest_difference(
        their_answerer(question="who sings ?", context=context, max_seq_len=48),
        ours(question="who sings ?", context=context))


def main():
    worst = 0.0
    with tempfile.TemporaryDirectory() as scratch:
        place = pathlib.Path(scratch)

        def made(kind):
            if not (place / kind).exists():
                getattr(models, kind)(place / kind)
            return place / kind

        parts = [("embedding", embeddings(made("embedding"), TEXTS)), ("reranker", rerankings(made("reranker"))),
                 ("pipelines", pipelines(made))]
        if len(sys.argv) > 1:
            parts.append((sys.argv[1], embeddings(sys.argv[1], TEXTS)))
        for kind, found in parts:
            for name, difference in found:
                print(f"{kind:12} {name:36} {difference:.2e}")
                worst = max(worst, difference)
    return 0 if worst <= LIMIT else 1


if __name__ == "__main__":
    sys.exit(main())
