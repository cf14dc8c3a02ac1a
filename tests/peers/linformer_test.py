#!/usr/bin/env python3
"""Tests how peers.py runs linformer's programs and reads their output: python3 linformer_test.py BUILD_FOLDER"""
import argparse
import json
import os
import sys
import tempfile
import unittest
from unittest import mock

from stand_ins import BENCH, encoded, np, silent

from peers import classify, compare, encode, growth, ours, texts, turns
from peers import weights as w
from peers.common import UserError

SAMPLE = os.path.join(os.path.dirname(BENCH), "sample")
SMALL = dict(layers=2, d=32, heads=4, ffn=48, vocabulary=60, eps=1e-5, first=2, pad=1)

# A program that runs linformer, except for `bench`, which would take seconds to measure the machine. For `bench` it
# prints n as the milliseconds.
PROGRAM = """#!/bin/sh
[ "$1" = bench ] || exec "{linformer}" "$@"
[ -f "$2" ] && [ "$3" = --n ] || exit 1
echo '{{"limits": {{"f32_gflops": 7, "f16_gflops": null}},'
echo '"results": [{{"median_ms": '$4', "min_ms": 1.5, "peak_bytes": 3145728, "compute": "f32"}}]}}'
"""


class Linformer(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder, self.programs = folder.name, ours.Programs(build)

    def path(self, name):
        return os.path.join(self.folder, name)

    def program(self, text):
        """Makes a folder with this script as linformer and with the build's linformer-convert, and returns it."""
        folder = tempfile.mkdtemp(dir=self.folder)
        with open(os.path.join(folder, "linformer"), "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(file.name, 0o755)
        os.symlink(self.programs.converter, os.path.join(folder, "linformer-convert"))
        return folder

    def ran(self, command, **options):
        """Runs a command of peers.py that measures only linformer. Returns (exit status, JSON, standard error)."""
        options = {"linformer": self.program(PROGRAM.format(linformer=self.programs.linformer)), "threads": 1,
                   "rounds": 2, "engines": ["linformer"], "json": self.path("figures.json"), "scratch": self.folder,
                   "seconds": 0, "calibrations": 1, "found": [], "missing": {}, **options}
        before = set(os.listdir(self.folder))
        with silent() as (_, err), mock.patch.object(w, "ROBERTA_BASE", SMALL), mock.patch.object(turns.time, "sleep"):
            status = command.run(argparse.Namespace(**options))
        self.assertEqual(set(os.listdir(self.folder)) - before, {"figures.json"} - before)
        with open(options["json"], encoding="utf-8") as file:
            return status, json.load(file), err.getvalue()

    def test_checkpoints_are_converted_and_computed_alike(self):
        base = w.Shape(**SMALL, k=9, longest=24)
        for name, shape, types in (("linformer", base, 0), ("roberta", base._replace(k=0), 1),
                                   ("bert", base._replace(k=0, eps=1e-12, first=0, pad=0), 2)):
            weights = {part: 3 * value for part, value in w.random_weights(shape, types, 6).items()}
            checkpoint, settings = w.save_checkpoint(self.path(name), weights, shape)
            for precision, cosine, least, most in (("f32", 1 - 1e-9, 0, 1e-5), ("bf16", 0.999, 1e-4, 0.05),
                                                   ("int8", 0.99, 1e-3, 0.2)):
                for n in (24, 13, 5):  # As many tokens as E has columns, fewer, and fewer than its rows.
                    ids = np.random.default_rng(n).integers(4, shape.vocabulary, n)
                    np.save(self.path("ids.npy"), ids[None])
                    np.save(self.path("wanted.npy"), encoded(weights, shape, ids)[None])
                    peer = encode.Ours(precision, self.programs, checkpoint, settings,
                                       self.path(f"{name}-{precision}.lnfr"), self.path("ids.npy"), n, 1)
                    peer.prepare()
                    peer.save(self.path("ours.npy"))
                    found = compare.differences(self.path("ours.npy"), self.path("wanted.npy"))
                    with self.subTest(name=name, precision=precision, n=n):
                        self.assertGreater(found["least_cosine"], cosine)
                        self.assertTrue(least < found["max_relative_difference"] < most, found)

    def test_encode_compares_also_texts_shorter_than_k(self):
        def save_reference(peer, path):
            """Saves the output that PyTorch would compute."""
            self.assertEqual((peer.engine, peer.precision), ("pytorch", "f32"))
            ids, shape = np.load(peer.spec["ids"]), w.Shape(**peer.spec["shape"])
            np.save(path, encoded(w.load(peer.spec["weights"]), shape, ids[0])[None])

        for k, lengths in ((16, [6, 16, 40]), (16, [6]), (0, [6])):
            with mock.patch.object(turns, "save_output", save_reference):
                status, said, err = self.ran(encode, n=lengths, k=k, precisions=["f32", "int8"], found=["pytorch"])
            self.assertEqual((status, err, said["limits"]), (0, "", {"f32_gflops": 7}))
            self.assertEqual([(row["n"], row["precision"], row["median_ms"]) for row in said["results"]],
                             [(n, precision, n) for n in lengths for precision in ("f32", "int8")])
            for row in said["results"]:
                self.assertEqual((row["k"], row["min_ms"], row["turns"], row["peak_mb"], row["compute"]),
                                 (k, 1.5, 2, 3, "f32"))
                self.assertLess(row["max_relative_difference"], 1e-5 if row["precision"] == "f32" else 0.2)
                self.assertGreater(row["mean_cosine"], 0.99)

    def test_encode_says_when_nothing_could_be_measured(self):
        broken = self.program("#!/bin/sh\n[ $1 = --version ] && echo linformer 1.2 || exit 1\n")
        status, said, _ = self.ran(encode, linformer=broken, n=[6], k=2, precisions=["f32"])
        self.assertEqual((status, said["results"]), (1, [
            {"n": 6, "k": 2, "engine": "linformer", "precision": "f32", "version": "1.2",
             "error": "linformer bench failed: no message"}]))

    def test_a_turn_is_the_median_that_bench_says(self):
        peer = encode.Ours("f32", self.programs, "", None, "", "", 8, 1)
        for median, least in ((4.0, 3.0), (2.0, 1.5), (9.0, 2.5)):
            said = {"median_ms": median, "min_ms": least, "peak_bytes": median * (1 << 20)}
            with mock.patch.object(ours.Programs, "bench", return_value=(said, {})):
                peer.turn(0)
        row = peer.row()
        self.assertAlmostEqual(row["median_ms"], 4)
        self.assertEqual((row["min_ms"], row["turns"], row["peak_mb"], "calls" in row), (1.5, 3, 9, False))
        self.assertEqual(row["version"], self.programs.version())

    def test_growth_measures_a_linformer_and_full_attention(self):
        status, said, err = self.ran(growth, n=[64, 128, 256], k=32, hashes=4, layers=2)
        self.assertEqual((status, err), (0, ""))
        self.assertEqual([fit["kind"] for fit in said["fits"]], ["Linformer, k 32", "full attention"])
        for fit in said["fits"]:
            self.assertAlmostEqual(fit["exponent"], 1)
        self.assertEqual([row["layer_ms"] for row in said["results"]], [32, 32, 64, 64, 128, 128])

    def test_classify_runs_whole_processes(self):
        reviews = [("A wonderful, lovely film.", "positive"), ("An awful, boring waste of time.", "negative")]
        for right in (True, False):
            with open(self.path("reviews.jsonl"), "w", encoding="utf-8") as file:
                for text, label in reviews:
                    file.write(json.dumps({"text": text, "label": label if right else "positive"}) + "\n")
            status, said, err = self.ran(
                classify, checkpoint=SAMPLE, texts=file.name, text_field="text", label_field="label", count=None,
                batch=32, precisions=["f32", "int8"], missing={"torch": "why"})
            self.assertEqual((status, said["reviews"], said["linformer_f32_agrees"]), (0, 2, None))
            self.assertIn("linformer is measured alone", err)
            for row in said["results"]:
                self.assertEqual((row["engine"], row["calls"], row["accuracy"]), ("linformer", 2, 1 if right else 0.5))
                self.assertAlmostEqual(row["texts_per_second"], 2e3 / row["median_ms"])
                self.assertTrue(0 < row["min_ms"] <= row["median_ms"] < 60e3 and row["peak_mb"] > 1, row)

    def test_a_turn_that_writes_nothing_leaves_no_answers_of_one_before(self):
        peer = texts.OursOnTexts("f32", self.programs, SAMPLE, self.path("a.lnfr"), [
            self.programs.linformer, "classify", "{model}", "--input", os.path.join(SAMPLE, "reviews.jsonl"),
            "--logits", "{out}"])
        peer.prepare()
        self.assertEqual((np.load(peer.array).shape[1], peer.times), (2, []))  # The first run isn't timed.
        peer.command = ["/bin/sh", "-c", ":"]
        peer.turn(0)
        with self.assertRaises(FileNotFoundError):
            peer.save(self.path("answers.npy"))

    def test_programs_that_are_not_there_or_fail(self):
        with self.assertRaisesRegex(UserError, "nowhere is no folder"):
            ours.Programs(self.path("nowhere"))
        os.mkdir(self.path("empty"))
        with self.assertRaisesRegex(UserError, "empty has no program linformer:"):
            ours.Programs(self.path("empty"))
        with self.assertRaisesRegex(UserError, "linformer-convert --dtype bf16 failed: .*absent"):
            self.programs.convert(self.path("absent"), self.path("a.lnfr"), "bf16")
        with self.assertRaisesRegex(UserError, "linformer classify failed: .*absent"):
            ours.Process([self.programs.linformer, "classify", self.path("absent"), "--input", SAMPLE])
        for text, says in (("exit 3", "linformer bench failed: no message"), ("echo no json", "is not as expected"),
                           ("kill -9 $$", "linformer bench failed: ended by signal 9"),
                           ("""echo '{"results": []}'""", "is not as expected"), ("echo '{}'", "is not as expected"),
                           ("""echo '{"results": [{"error": "no room"}]}'""", "linformer bench: no room")):
            with self.subTest(text=text), self.assertRaisesRegex(UserError, says):
                ours.Programs(self.program("#!/bin/sh\n" + text + "\n")).bench("model", 8, 1, 0)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    build = sys.argv.pop(1)
    unittest.main()
