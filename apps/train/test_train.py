#!/usr/bin/env python3
"""A quick test of the training program with made-up texts. Run it with: python3 test_train.py"""

import contextlib
import gzip
import io
import json
import os
import random
import sys
import tempfile
import types
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

try:
    import numpy
    import tokenizers  # noqa: F401
    import torch
except ImportError as missing:
    print(f"test_train: skipped ({missing.name} is not installed)")
    sys.exit(0)

import batches
import blend
import bpe
import checkpoint
import train
from baseline import linear_accuracy
from config import SHARING_MODES, ModelConfig
from embedding_init import token_vectors
from linformer_model import LinearAttention, LinformerClassifier, initialise
from trainer import logits_of

SIZES = ["--vocab-size", "300", "--max-tokens", "48", "--k", "12", "--d-model", "16", "--layers", "2",
         "--heads", "2", "--batch-tokens", "512", "--seed", "3"]


def made_up_records(count, seed):
    """Yields texts of 1 to 60 words. Some of the words show the class of the text."""
    source = random.Random(seed)
    words = ["stone", "river", "cloud", "window", "seven", "naïve", "über"]
    signs = (["warm", "bright", "gentle"], ["cold", "dark", "harsh"])
    for _ in range(count):
        label = source.randrange(2)
        length = source.randint(1, 60)
        text = [source.choice(signs[label] if source.random() < 0.4 else words) for _ in range(length)]
        yield {"text": " ".join(text), "second": " ".join(reversed(text[:5])),
               "label": ("sun", "rain")[label]}


def write_jsonl(path, records):
    opener = gzip.open if path.endswith(".gz") else open
    with opener(path, "wt", encoding="utf-8") as file:
        for record in records:
            file.write(json.dumps(record) + "\n")


def run(*arguments):
    """Runs the program and returns (exit status, stdout, stderr)."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        status = train.main(list(arguments))
    return status, out.getvalue(), err.getvalue()


class TrainTest(unittest.TestCase):
    def setUp(self):
        torch.set_num_threads(1)
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.data = self.path("data.jsonl.gz")
        write_jsonl(self.data, made_up_records(200, 5))

    def path(self, name):
        return os.path.join(self.folder, name)

    def train(self, *more, out="model"):
        status, printed, err = run("--train", self.data, "--out", self.path(out), *SIZES, *more)
        self.assertEqual(status, 0, err)
        self.assertIn(f"next: linformer-convert {self.path(out)} -o model.lnfr", printed)
        return self.path(out)

    def test_learns_saves_and_reads_back(self):
        out = self.train("--epochs", "6", "--lr", "0.005", "--half", "--average", "0.9",
                         "--token-mask", "0.1", "--token-drop", "0.1", "--crop", "0.8")
        logits_path = self.path("logits.npy")
        status, printed, err = run("--eval", self.data, "--out", out, "--logits", logits_path, "--json")
        self.assertEqual(status, 0, err)
        result = json.loads(printed)["eval"]
        self.assertEqual(result["records"], 200)
        self.assertGreater(result["accuracy"], 0.8)
        logits = numpy.load(logits_path)
        self.assertEqual((logits.dtype, logits.shape), (numpy.float32, (200, 2)))

        with open(os.path.join(out, "labels.txt"), encoding="utf-8") as file:
            labels = file.read().split()
        self.assertEqual(labels, ["rain", "sun"])
        truth = [labels.index(r["label"]) for r in made_up_records(200, 5)]
        self.assertEqual(int((logits.argmax(axis=1) == truth).sum()), result["correct"])

        with open(os.path.join(out, "vocab.json"), encoding="utf-8") as file:
            vocabulary = json.load(file)
        self.assertEqual([vocabulary[t] for t in ("<s>", "<pad>", "</s>", "<unk>", "<mask>")],
                         [0, 1, 2, 3, len(vocabulary) - 1])
        content = torch.load(os.path.join(out, "checkpoint.pt"), weights_only=False)
        self.assertEqual(content["cfg"]["model"].compressed, 4)
        self.assertTrue(all(t.dtype == torch.float16 for t in content["model"].values()
                            if t.is_floating_point()))

    def test_quiet_has_no_progress(self):
        arguments = ("--train", self.data, *SIZES, "--epochs", "1", "--out", self.path("model"))
        status, printed, err = run(*arguments, "--quiet")
        self.assertEqual((status, err), (0, ""))
        self.assertIn("best epoch 1", printed)
        self.assertIn("training loss", run(*arguments)[2])

    def test_verbose_says_sizes_and_rates(self):
        arguments = ("--train", self.data, *SIZES, "--epochs", "1", "--out", self.path("model"))
        err = run(*arguments, "--verbose")[2]
        self.assertIn("d_model 16", err)
        self.assertIn("learning rate at the end", err)
        self.assertNotIn("learning rate at the end", run(*arguments)[2])
        self.assertEqual(run(*arguments, "--verbose", "--quiet")[0], 2)

    def test_same_seed_same_model(self):
        one, two = (torch.load(os.path.join(self.train("--epochs", "1", out=name), "checkpoint.pt"),
                               weights_only=False)["model"]
                    for name in ("one", "two"))
        self.assertTrue(all(torch.equal(one[name], two[name]) for name in one))

    def test_pairs_with_the_tokenizer_of_an_earlier_model(self):
        first = self.train("--epochs", "1")
        second = self.train("--epochs", "1", "--pair", "second", "--tokenizer", first,
                            "--eval", self.data, out="pairs")
        _, config, _ = checkpoint.load(second)
        encoder = bpe.load(second)
        with open(os.path.join(first, "vocab.json"), encoding="utf-8") as file:
            self.assertEqual(len(encoder.vocabulary), len(json.load(file)))
        self.assertEqual(config.sharing, "layer_kv")

    def test_tables(self):
        csv_path, tsv_path = self.path("data.csv"), self.path("data.tsv")
        records = list(made_up_records(60, 6))
        with open(csv_path, "w", encoding="utf-8") as file:
            file.write("label,text\n" + "".join(f'{r["label"]},"{r["text"]}, ""x"""\n' for r in records))
        with open(tsv_path, "w", encoding="utf-8") as file:
            file.write("text\tlabel\n" + "".join(f'{r["text"]}\t{r["label"]}\n' for r in records))
        status, _, err = run("--train", csv_path, "--valid", tsv_path, "--out", self.path("t"),
                             "--epochs", "1", *SIZES)
        self.assertEqual(status, 0, err)

    def test_fasttext_lines(self):
        path = self.path("data.txt")
        records = list(made_up_records(60, 6))
        with open(path, "w", encoding="utf-8") as file:
            file.write("".join(f'__label__{r["label"]} {r["text"]}\n' for r in records))
        status, _, err = run("--train", path, "--valid", self.data, "--out", self.path("f"), "--epochs", "1", *SIZES)
        self.assertEqual(status, 0, err)
        for line in ("no label", "__label__ x", "__label__a __label__b x"):
            with open(path, "w", encoding="utf-8") as file:
                file.write(line + "\n")
            status, _, err = run("--train", path, "--out", self.path("g"), *SIZES)
            self.assertEqual(status, 2)
            self.assertIn("data.txt:1: ", err)

    def test_several_files(self):
        others = self.path("others.jsonl")
        write_jsonl(others, made_up_records(60, 7))
        status, printed, err = run(
            "--train", self.data, "--train", others, "--train-shares", "0.5,1", "--valid", others, "--valid",
            self.data, "--batch-texts", "16", "--noise-from", "20", "--token-drop", "0.2", "--epochs", "2",
            "--out", self.path("several"), "--json", *SIZES)
        self.assertEqual(status, 0, err)
        self.assertIn("260 training and 260 validation records", err)
        result = json.loads(printed)["train"]
        each = result["valid_accuracies"]
        self.assertEqual(list(each), [others, self.data])
        self.assertAlmostEqual(result["valid_accuracy"], sum(each.values()) / 2)
        # Each file counts the same: a mean over all records would give the larger file more weight.
        for path, accuracy in each.items():
            printed = run("--eval", path, "--out", self.path("several"), "--json")[1]
            self.assertEqual(json.loads(printed)["eval"]["accuracy"], accuracy)

    def test_several_files_without_validation_hold_out_of_each(self):
        others = self.path("others.jsonl")
        write_jsonl(others, made_up_records(60, 7))
        status, printed, err = run("--train", self.data, "--train", others, "--epochs", "1",
                                   "--out", self.path("held"), "--json", *SIZES)
        self.assertEqual(status, 0, err)
        self.assertIn("234 training and 26 validation records", err)
        self.assertEqual(list(json.loads(printed)["train"]["valid_accuracies"]), [self.data, others])

    def test_epochs_draw_their_share_of_each_file(self):
        texts = [(numpy.full(n, 10 + i), None) for i, n in enumerate([5] * 40 + [9] * 10 + [3])]
        source = batches.TrainingBatches(
            texts, list(range(51)), [40, 10, 1], [0.25, 2.0, 0.1], 16, 60, 4,
            types.SimpleNamespace(crop=1.0, drop=0.0, mask=0.0, shortest=1), 9, 3)
        epochs = [source.epoch(), source.epoch()]
        drawn = []
        for epoch in epochs:
            self.assertTrue(all(len(sequences) <= 4 for sequences, _ in epoch))
            pairs = [(int(sequence[1]) - 10, int(label)) for sequences, classes in epoch
                     for sequence, label in zip(sequences, classes)]
            self.assertTrue(all(index == label for index, label in pairs))
            drawn.append(sorted(index for index, _ in pairs))
            self.assertEqual(len(set(drawn[-1])), 21)
            self.assertEqual(drawn[-1][10:], sorted(2 * list(range(40, 50)) + [50]))
        self.assertNotEqual(drawn[0], drawn[1])

    def test_noise_spares_short_texts(self):
        texts = [(numpy.arange(10, 10 + n), None) for n in [7] * 20 + [8] * 20]
        source = batches.TrainingBatches(
            texts, [0] * 40, [40], [1.0], 16, 60, None,
            types.SimpleNamespace(crop=0.7, drop=0.3, mask=0.3, shortest=8), 9, 3)
        short = [2 + n for n in (7, 8)]
        whole = [sequence for sequences, _ in source.epoch() for sequence in sequences
                 if len(sequence) in short and (sequence[1:-1] == numpy.arange(10, 8 + len(sequence))).all()]
        self.assertEqual(sum(len(sequence) == short[0] for sequence in whole), 20)
        self.assertLess(sum(len(sequence) == short[1] for sequence in whole), 10)

    def test_goes_on_from_a_saved_model(self):
        first = self.train("--epochs", "6", "--lr", "0.005", "--label-names", "wet,dry")
        numbered, unknown = self.path("numbered.jsonl"), self.path("unknown.jsonl")
        records = [{**record, "label": int(record["label"] == "sun")} for record in made_up_records(80, 8)]
        write_jsonl(numbered, records)
        write_jsonl(unknown, records + [{"text": "a", "label": "snow"}])
        before = json.loads(run("--eval", numbered, "--out", first, "--json")[1])["eval"]
        status, _, err = run("--init", first, "--train", unknown, "--out", self.path("none"))
        self.assertEqual((status, err.count("\n")), (2, 1), err)
        self.assertIn("'snow', the model knows wet, dry", err)
        self.assertFalse(os.path.exists(self.path("none")))
        # With a learning rate near zero, the result shows that training starts from the first model.
        status, _, err = run("--init", first, "--train", numbered, "--epochs", "1", "--lr", "1e-9",
                             "--dropout", "0.3", "--out", self.path("second"))
        self.assertEqual(status, 0, err)
        after = json.loads(run("--eval", numbered, "--out", self.path("second"), "--json")[1])["eval"]
        self.assertEqual(after["correct"], before["correct"])
        self.assertAlmostEqual(after["loss"], before["loss"], 4)
        _, config, labels = checkpoint.load(self.path("second"))
        self.assertEqual((labels, config.max_tokens, config.dropout), (["wet", "dry"], 48, 0.3))
        for name in bpe.FILES:
            with open(os.path.join(first, name), "rb") as one, \
                    open(os.path.join(self.path("second"), name), "rb") as two:
                self.assertEqual(one.read(), two.read())

    def test_blends_two_models(self):
        first = self.train("--epochs", "1", out="first")
        status, _, err = run("--init", first, "--train", self.data, "--epochs", "1", "--out", self.path("second"))
        self.assertEqual(status, 0, err)
        self.assertEqual(blend.main([first, self.path("second"), "--share", "0.75", "--out", self.path("mix")]), 0)
        models = [checkpoint.load(self.path(name))[0].state_dict() for name in ("first", "second", "mix")]
        moved = False
        for name, one in models[0].items():
            if one.is_floating_point() and name.endswith(("weight", "bias")):
                moved = moved or not torch.equal(one, models[1][name])
                self.assertTrue(torch.allclose(0.25 * one + 0.75 * models[1][name], models[2][name], atol=1e-6), name)
        self.assertTrue(moved)

        other = self.train("--epochs", "1", "--label-names", "wet,dry", out="other")
        os.remove(os.path.join(self.path("second"), "merges.txt"))
        for wrong, what in ((other, "differ in sizes or labels"), (self.path("absent"), "no such file"),
                            (self.path("second"), "must exist and be equal")):
            err = io.StringIO()
            with contextlib.redirect_stderr(err):
                self.assertEqual(blend.main([first, wrong, "--out", self.path("bad")]), 2)
            self.assertRegex(err.getvalue(), "^blend.py: error: .*" + what)
            self.assertFalse(os.path.exists(self.path("bad")))

    def test_padding_changes_nothing(self):
        source = numpy.random.RandomState(1)
        texts = [source.randint(4, 90, n) for n in (1, 2, 17, 30, 48)]
        for sharing in SHARING_MODES:
            torch.manual_seed(2)
            model = LinformerClassifier(ModelConfig(
                vocab_size=90, max_tokens=48, k=12, d_model=16, layers=3, heads=4, ffn=32, classes=3,
                sharing=sharing)).eval()
            initialise(model, "random")
            together = logits_of(model, texts, 1000)
            self.assertEqual(tuple(together.shape), (5, 3))
            for text, logits in zip(texts, together):
                alone = model(torch.from_numpy(text)[None])[0].detach()
                self.assertLess(float((alone - logits).abs().max()), 1e-5, sharing)

    def test_compression_and_projection_give_the_same_result_in_either_order(self):
        torch.manual_seed(5)
        projection, weight = torch.nn.Linear(6, 6), torch.randn(4, 8)
        for n in (1, 3, 4, 8):
            rows = torch.randn(2, n, 6)
            expected = projection(torch.matmul(weight[:, :n], rows))
            got = LinearAttention.compressed(projection, weight[:, :n], rows)
            self.assertLess(float((expected - got).detach().abs().max()), 1e-5)

    def test_keys_of_each_sharing_mode(self):
        prefix = checkpoint.PREFIX
        for sharing in SHARING_MODES:
            model = LinformerClassifier(ModelConfig(
                vocab_size=9, max_tokens=8, k=4, d_model=4, layers=2, heads=1, ffn=4, classes=2,
                sharing=sharing))
            keys = set(model.state_dict())
            layer_shared = sharing in ("layer", "layer_kv")
            attention = prefix + "layers.1.self_attn."
            self.assertIn(attention + "compress_k.weight", keys)
            self.assertEqual(attention + "compress_v.weight" in keys, sharing in ("none", "layer"))
            self.assertEqual(attention + "compress_k.bias" in keys, layer_shared)
            self.assertEqual(prefix + "compress_layer.weight" in keys, layer_shared)
            self.assertEqual(len(model.compressions()),
                             {"none": 4, "kv": 2, "layer": 1, "layer_kv": 1}[sharing])

    def test_truncation(self):
        long = numpy.arange(10, 30)
        self.assertEqual(bpe.frame(long, None, 8).tolist(), [0, 10, 11, 12, 13, 14, 15, 2])
        self.assertEqual(bpe.frame(long, long[:2], 10).tolist(), [0, 10, 11, 12, 13, 2, 2, 10, 11, 2])
        self.assertEqual(bpe.frame(long, long, 10).tolist(), [0, 10, 11, 12, 2, 2, 10, 11, 12, 2])

    def test_tokens_of_the_same_texts_get_similar_vectors(self):
        source = numpy.random.RandomState(4)
        texts = [(source.randint(10, 20, 12) + 10 * (i % 2), None) for i in range(80)]
        vectors = token_vectors(texts, 40, 8, 1)
        self.assertFalse(vectors[:10].any() or vectors[30:].any())
        self.assertGreater(vectors[10] @ vectors[11], vectors[10] @ vectors[25])
        self.assertEqual(token_vectors(texts, 40, 64, 1).shape, (40, 64))
        self.assertFalse(token_vectors([(numpy.array([], dtype=int), None)], 40, 8, 1).any())

    def test_batches_cover_all_texts_once(self):
        lengths = [5, 60, 1, 7, 7, 30, 2]
        groups = batches.evaluation_batches([[0] * n for n in lengths], 40)
        self.assertEqual(sorted(i for group in groups for i in group), list(range(7)))
        self.assertTrue(all(len(g) == 1 or len(g) * max(lengths[i] for i in g) <= 40 for g in groups))

    def test_bad_input_is_one_line_and_status_2(self):
        def file(name, content):
            with open(self.path(name), "wb") as handle:
                handle.write(content)
            return self.path(name)

        good, out = self.data, self.path("bad")
        one_class = self.path("one.jsonl")
        write_jsonl(one_class, [{"text": "a", "label": 1}] * 5)
        other_class = self.path("other.jsonl")
        write_jsonl(other_class, [{"text": "a", "label": "snow"}])
        cases = {
            "nothing to do": ["--out", out],
            "unknown option": ["--train", good, "--out", out, "--frobnicate"],
            "no such file": ["--train", self.path("absent.jsonl"), "--out", out],
            "kind of file": ["--train", file("data.xml", b"<a/>"), "--out", out],
            "empty": ["--train", file("empty.jsonl", b""), "--out", out],
            "not JSON": ["--train", file("a.jsonl", b'{"text": "x", "label": 1}\n{oops\n'), "--out", out],
            "no object": ["--train", file("b.jsonl", b"[1]\n"), "--out", out],
            "no field": ["--train", good, "--field", "body", "--out", out],
            "no pair field": ["--train", good, "--pair", "body", "--out", out],
            "text is a number": ["--train", file("c.jsonl", b'{"text": 1, "label": 1}\n'), "--out", out],
            "label is a list": ["--train", file("d.jsonl", b'{"text": "", "label": []}\n'), "--out", out],
            "not UTF-8": ["--train", file("e.jsonl", b"\xff\xfe\n"), "--out", out],
            "damaged gzip": ["--train", file("f.jsonl.gz", b"\x1f\x8b\x08\x00zzzzzzzzzzz"), "--out", out],
            "not gzip": ["--train", file("g.jsonl.gz", b"plain"), "--out", out],
            "short row": ["--train", file("h.csv", b"text,label\nonly\n"), "--out", out],
            "open quote": ["--train", file("i.csv", b'text,label\n"a,1\n'), "--out", out],
            "one class": ["--train", one_class, "--out", out],
            "label names": ["--train", good, "--label-names", "a,b,c", "--out", out],
            "heads": ["--train", good, *SIZES, "--heads", "3", "--out", out],
            "k": ["--train", good, *SIZES, "--k", "13", "--out", out],
            "k over N": ["--train", good, *SIZES, "--k", "49", "--out", out],
            "vocabulary": ["--train", good, "--vocab-size", "10", "--out", out],
            "dropout": ["--train", good, "--dropout", "1.5", "--out", out],
            "no tokenizer": ["--train", good, "--tokenizer", self.path("absent"), "--out", out],
            "out is a file": ["--train", good, *SIZES, "--out", file("file", b"")],
            "no checkpoint": ["--eval", good, "--out", self.path("absent")],
            "surrogate": ["--train", file("j.jsonl", b'{"text": "\\ud800", "label": 1}\n'), "--out", out],
            "too large": ["--train", good, *SIZES, "--d-model", "1000000", "--out", out],
            "shares of other files": ["--train", good, "--train-shares", "1,0.5", "--out", out],
            "share too large": ["--train", good, "--train-shares", "101", "--out", out],
            "share is no number": ["--train", good, "--train-shares", "half", "--out", out],
            "batch texts": ["--train", good, "--batch-texts", "0", "--out", out],
            "noise from": ["--train", good, "--noise-from", "0", "--out", out],
            "second file": ["--train", good, "--train", self.path("absent.jsonl"), "--out", out],
            "label of one file": ["--train", good, *SIZES, "--valid", other_class, "--out", out],
            "init without a model": ["--train", good, "--init", self.path("absent"), "--out", out],
            "init and sizes": ["--train", good, "--init", out, "--layers", "2", "--out", out],
            "init without train": ["--eval", good, "--init", out, "--out", out],
            "weight decay": ["--train", good, "--weight-decay", "nan", "--out", out],
            "logits alone": ["--train", good, "--logits", "x.npy", "--out", out],
        }
        for name, arguments in cases.items():
            with self.subTest(name):
                status, printed, err = run(*arguments)
                self.assertEqual((status, printed), (2, ""), err)
                self.assertRegex(err.splitlines()[-1], r"^train\.py: error: \S")
                self.assertEqual(err.count("error"), 1, err)
                self.assertNotIn("Traceback", err)

    def test_linear_model_learns_words_and_is_reported(self):
        records = list(made_up_records(300, 11))
        texts, labels = [r["text"] for r in records], [int(r["label"] == "sun") for r in records]
        held = (texts[200:], labels[200:])
        accuracy = linear_accuracy((texts[:200], labels[:200]), [held], 2)
        self.assertGreater(accuracy, 0.9)
        wrong = (texts[200:], [1 - label for label in labels[200:]])
        self.assertAlmostEqual(linear_accuracy((texts[:200], labels[:200]), [held, wrong], 2), 0.5)
        # After a few steps at a tiny learning rate the model has learned nothing, and the program says so.
        status, printed, err = run("--train", self.data, "--out", self.path("model"), *SIZES, "--epochs", "1",
                                   "--lr", "1e-9")
        self.assertEqual(status, 0, err)
        self.assertRegex(printed, r"a linear model on the same texts \(TF-IDF, logistic regression\): "
                                  r"validation accuracy [01]\.[0-9]{4}\n")
        self.assertIn("note: the linear model is no worse here", printed)

    def test_bad_checkpoints(self):
        out = self.train("--epochs", "1")
        path = os.path.join(out, "checkpoint.pt")
        with open(path, "rb") as file:
            content = file.read()
        for damaged in (b"", b"junk", content[:len(content) // 2]):
            with open(path, "wb") as file:
                file.write(damaged)
            status, _, err = run("--eval", self.data, "--out", out)
            self.assertEqual((status, len(err.splitlines())), (2, 1), err)
        torch.save({"model": {}, "cfg": {"model": None}}, path)
        self.assertEqual(run("--eval", self.data, "--out", out)[0], 2)
        torch.save({"model": random.Random(1)}, path)
        status, _, err = run("--eval", self.data, "--out", out)
        self.assertEqual(status, 2)
        self.assertIn("random.Random", err)


if __name__ == "__main__":
    unittest.main()
