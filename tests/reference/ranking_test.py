#!/usr/bin/env python3
"""Compares rerank, classify --zero-shot, embed --sparse and search with transformers and NumPy, on small random models.

    ranking_test.py LINFORMER LINFORMER_CONVERT WORK

The exit code is 77 if transformers is neither in this Python nor in the one that apps/bench/peers.py made.
"""
import math
import pathlib
import random
import shutil
import sys

from transformers_peer import SKIPPED, Failure, convert, imported, json_lines, run

numpy, torch, transformers = imported(SKIPPED)

LINFORMER, CONVERT, WORK = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3])
WORDS = ("a the of film plot sea storm ship captain letter garden bread music engine road winter summer city river "
         "night morning house train king queen poem painter dog cat stone fire water friend enemy").split()
LETTERS = "bcdefghijklmnopqrstuvwxyz"  # "a" is in WORDS.
VOCABULARY = (["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", ".", ",", "!", *WORDS, *LETTERS] +
              ["##" + c for c in "a" + LETTERS] + ["this", "example", "is", "about", "text"])


def sentences(count, most, seed):
    chance = random.Random(seed)
    texts = []
    for _ in range(count):
        words = [chance.choice(WORDS + ["zqx", "unusual"]) for _ in range(1 + chance.randrange(most))]
        texts.append(" ".join(words) + chance.choice([".", "!", ""]))
    return texts


def save(name, model, tokenizer):
    folder = WORK / name
    model.eval().save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return convert(CONVERT, folder, WORK / (name + ".lnfr"))


def answers(*arguments):
    return json_lines(LINFORMER, *arguments, "--json", "--quiet")


def close(what, ours, theirs, tolerance=2e-5):
    if abs(ours - theirs) > tolerance * max(1, abs(theirs)):
        sys.exit(f"{what}: linformer gives {ours}, and the reference gives {theirs}")


def settings(**more):
    # The weights are large, so that the scores of different texts are far apart and rounding doesn't change their
    # order.
    return transformers.BertConfig(vocab_size=len(VOCABULARY), hidden_size=48, num_hidden_layers=2, num_attention_heads=4,
                                   intermediate_size=96, max_position_embeddings=40, initializer_range=0.4, **more)


def tokens_of(tokenizer, *texts, truncation=True):
    return tokenizer(*texts, return_tensors="pt", truncation=truncation, max_length=40)


def check_rerank(tokenizer, texts):
    model = transformers.BertForSequenceClassification(settings(num_labels=1))
    path = save("reranker", model, tokenizer)
    for query in ("the storm at sea", "bread", "a letter of the queen. " * 5):
        with torch.no_grad():
            logits = [model(**tokens_of(tokenizer, query, text)).logits[0, 0].item() for text in texts]
        made = answers("rerank", path, "--query", query, "-i", WORK / "texts.txt")
        raw = answers("rerank", path, "--query", query, "-i", WORK / "texts.txt", "--raw", "--top-n", 7)
        scores = {answer["index"]: answer["score"] for answer in made}
        assert [answer["index"] for answer in made] == sorted(scores, key=lambda i: (-scores[i], i))
        for answer in made:
            close("rerank", answer["score"], 1 / (1 + math.exp(-logits[answer["index"]])))
        for answer in raw:
            close("rerank --raw", answer["score"], logits[answer["index"]])
        best = sorted(range(len(texts)), key=lambda i: (-logits[i], i))[:7]
        for ours, theirs in zip(raw, best):
            close("the best documents", logits[ours["index"]], logits[theirs])
        assert len(raw) == 7
    return 3 * len(texts)


def check_zero_shot(tokenizer, texts):
    cases = 0
    for names in (["contradiction", "neutral", "entailment"], ["ENTAILMENT", "other", "CONTRADICTION"],
                  ["not", "entails"], ["LABEL_0", "LABEL_1", "LABEL_2"]):
        model = transformers.BertForSequenceClassification(
            settings(num_labels=len(names), id2label=dict(enumerate(names)),
                     label2id={name: i for i, name in enumerate(names)}))
        path = save("nli", model, tokenizer)
        pipeline = transformers.pipeline("zero-shot-classification", model=model, tokenizer=tokenizer, device="cpu")
        pipeline.tokenizer.model_max_length = 40
        for labels, more in (("sea,garden,music", {}), ("sea, garden ,music,king", {"multi_label": True}), ("poem", {}),
                             ("dog,cat", {"hypothesis_template": "the text is about {}."})):
            arguments = ["--zero-shot", labels]
            if more.get("multi_label"):
                arguments.append("--multi-label")
            if "hypothesis_template" in more:
                arguments += ["--hypothesis", more["hypothesis_template"]]
            made = answers("classify", path, "-i", WORK / "texts.txt", *arguments)
            for answer, expected in zip(made, pipeline(texts, labels, **more)):
                scores = {score["label"]: score["probability"] for score in answer["scores"]}
                assert set(scores) == set(expected["labels"])
                for label, score in zip(expected["labels"], expected["scores"]):
                    close("zero-shot", scores[label], score)
                ours = [score["probability"] for score in answer["scores"]]
                assert ours == sorted(ours, reverse=True)
                cases += 1
    return cases


def check_sparse(tokenizer, texts):
    model = transformers.BertForMaskedLM(settings())
    path = save("splade", model, tokenizer)
    made = answers("embed", path, "-i", WORK / "texts.txt", "--sparse")
    for text, answer in zip(texts, made):
        encoded = tokens_of(tokenizer, text)
        with torch.no_grad():
            weights = torch.log1p(torch.relu(model(**encoded).logits)) * encoded["attention_mask"].unsqueeze(-1)
        expected = weights.max(dim=1).values[0]
        theirs = {VOCABULARY[i]: expected[i].item() for i in expected.nonzero().flatten().tolist()}
        for token in set(theirs) | set(answer["tokens"]):
            close("sparse " + token, answer["tokens"].get(token, 0), theirs.get(token, 0))
        ours = list(answer["tokens"].values())
        assert ours == sorted(ours, reverse=True)
    return len(texts)


def check_search(tokenizer, texts):
    path = save("encoder", transformers.BertModel(settings(), add_pooling_layer=False), tokenizer)
    vectors = WORK / "texts.npy"
    for dimensions in (48, 16):
        options = ["--pooling", "mean", "--normalize", "--dimensions", str(dimensions)]
        run(LINFORMER, "embed", path, "-i", WORK / "texts.txt", "-o", vectors, "--quiet", *options)
        rows = numpy.load(vectors)
        assert rows.shape == (len(texts), dimensions)
        full = numpy.array([answer["embedding"] for answer in answers(
            "embed", path, "-i", WORK / "texts.txt", "--pooling", "mean", "--no-normalize")], dtype=numpy.float64)
        cut = full[:, :dimensions] / numpy.linalg.norm(full[:, :dimensions], axis=1, keepdims=True)
        assert numpy.abs(rows - cut).max() < 1e-6
        query = numpy.array(answers("embed", path, "the storm", *options)[0]["embedding"])
        scores = cut @ query
        for similarity in ("cosine", "dot"):
            made = answers("search", path, "--query", "the storm", "--vectors", vectors, "-i", WORK / "texts.txt",
                           "--similarity", similarity, "--top-k", 12, *options)
            best = sorted(range(len(texts)), key=lambda i: -scores[i])[:12]
            for answer, index in zip(made, best):
                close("search", answer["score"], scores[index])
                close("search", scores[answer["index"]], scores[index])
                assert answer["text"] == texts[answer["index"]]
    return 4


def main():
    shutil.rmtree(WORK, ignore_errors=True)
    WORK.mkdir(parents=True)
    torch.manual_seed(1)
    (WORK / "vocab.txt").write_text("\n".join(VOCABULARY) + "\n")
    tokenizer = transformers.BertTokenizer(str(WORK / "vocab.txt"))
    tokenizer.model_max_length = 40
    texts = sentences(16, 45, 3)
    (WORK / "texts.txt").write_text("\n".join(texts) + "\n")
    print("cases:", "rerank", check_rerank(tokenizer, texts), "zero-shot", check_zero_shot(tokenizer, texts), "search",
          check_search(tokenizer, texts), "sparse", check_sparse(tokenizer, texts))



try:
    main()
except Failure as failure:
    sys.exit(str(failure))
