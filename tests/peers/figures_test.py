#!/usr/bin/env python3
"""Tests figures, texts and weights of peers.py without engines and without a build."""
import argparse
import gzip
import json
import math
import os
import tempfile
import unittest
from unittest import mock

from stand_ins import np, silent

from peers import classify, common, compare, encode, framing, growth, texts, turns
from peers import weights as w
from peers.common import UserError


class Figures(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def path(self, name, array=None):
        path = os.path.join(self.folder, name)
        if array is not None:
            np.save(path, np.array(array, dtype=np.float32))
        return path

    def differences(self, ours, wanted):
        with np.errstate(invalid="ignore"):
            return compare.differences(self.path("ours.npy", ours), self.path("wanted.npy", wanted))

    def test_differences(self):
        wanted = [[[3, 4], [0, -8]]]
        for ours, difference, mean, least in (
                (wanted, 0, 1, 1), ([[[6, 8], [0, -16]]], 1, 1, 1), ([[[-3, -4], [0, -8]]], 1, 0, -1),
                ([[[4, -3], [0, -8]]], 7 / 8, 0.5, 0), ([[[3, 4], [6, -8]]], 6 / 8, 0.9, 0.8),
                ([[[0, 0], [0, -8]]], 0.5, 0.5, 0)):
            found = self.differences(ours, wanted)
            self.assertEqual(list(found), ["max_relative_difference", "mean_cosine", "least_cosine"])
            np.testing.assert_allclose(list(found.values()), [difference, mean, least], atol=1e-12, err_msg=repr(ours))

    def test_nan_and_infinity_are_never_near(self):
        for bad in (math.nan, math.inf, -math.inf):
            for ours, wanted in (([[3, 4], [bad, 1]], [[3, 4], [2, 1]]), ([[3, 4], [2, 1]], [[3, 4], [bad, 1]])):
                found = self.differences(ours, wanted)
                self.assertFalse(found["max_relative_difference"] < 1e30, found)
                self.assertTrue(math.isnan(found["mean_cosine"]) and math.isnan(found["least_cosine"]), found)
        self.assertEqual((compare.shown(math.nan, ".1e"), compare.shown(None, ".1e")), ("nan", "-"))

    def test_an_output_of_another_shape_is_an_error_of_its_peer(self):
        peers = [turns.Peer("pytorch", name) for name in ("reference", "near", "short", "failed")]
        peers[3].error = "died"
        outputs = {peer: self.path(peer.precision + ".npy") for peer in peers}
        for peer, array in zip(peers, ([[1, 2], [3, 4]], [[1, 2], [3, 5]], [[1, 2]])):
            np.save(outputs[peer], np.array(array, dtype=np.float32))
        compare.compare_all(peers, outputs, peers[0])
        self.assertEqual([peer.error for peer in peers], [None, None, "an output of (1, 2), not (2, 2)", "died"])
        self.assertEqual([peer.figures.get("max_relative_difference") for peer in peers], [0, 0.25, None, None])
        peers[0].error, peers[1].figures = "died", {}
        compare.compare_all(peers[:2], outputs, peers[0])
        self.assertEqual(peers[1].figures, {})

    def test_json_has_null_for_nan_and_infinity(self):
        path = self.path("a.json")
        common.write_json(path, {"rows": [{"nan": math.nan, "inf": -math.inf, "one": 1.5, "none": None, "NaN": "NaN"}]})
        with open(path, encoding="utf-8") as file:
            self.assertEqual(json.load(file, parse_constant=self.fail),
                             {"rows": [{"nan": None, "inf": None, "one": 1.5, "none": None, "NaN": "NaN"}]})
        with silent() as (out, _):
            common.write_json("-", [1])
        self.assertEqual(json.loads(out.getvalue()), [1])
        self.assertEqual(os.listdir(self.folder), ["a.json"])
        with self.assertRaisesRegex(UserError, "can't be written"):
            common.write_json(os.path.join(self.folder, "nowhere", "a.json"), {})

    def test_exponent(self):
        for exponent in (0, 0.5, 1, 2):
            for lengths in ((512, 4096), (64, 512, 1024, 4096)):
                points = [(n, 3e-4 * n ** exponent) for n in lengths]
                self.assertAlmostEqual(growth.exponent(points), exponent, places=12)
        points = [(64, 1.0), (128, 2.5), (512, 9.0), (4096, 60.0)]
        fitted = np.polyfit(*np.log(points).T, 1)[0]
        self.assertAlmostEqual(growth.exponent(points), fitted, places=12)
        self.assertIsNone(growth.exponent([(512, 1.0)]))
        self.assertIsNone(growth.exponent([]))

    def test_growth_reports_time_of_a_layer_and_what_failed(self):
        def peer(kind, ms, error=None):
            made = turns.Peer("linformer", "f32", kind=kind)
            made.times, made.error = [] if error else [ms / 1e3], error
            return made

        peers = {512: [peer("bent", 4), peer("square", 2), peer("lost", 1, "died")],
                 1024: [peer("bent", 8), peer("square", 8), peer("lost", 1)],
                 2048: [peer("bent", 32), peer("square", 0, "died"), peer("lost", 0, "died")]}
        options = argparse.Namespace(layers=2, threads=1, rounds=1, seconds=0, json=self.path("growth.json"))
        base = {"d": 768, "heads": 12}
        with silent() as (out, err):
            self.assertEqual(growth.report(options, base, peers, quiet=False), 0)
        with open(options.json, encoding="utf-8") as file:
            said = json.load(file)
        fits = {fit["kind"]: (fit["exponent"], fit["exponent_of_last_step"]) for fit in said["fits"]}
        np.testing.assert_allclose([fits["bent"], fits["square"]], [(1.5, 2), (2, 2)])
        self.assertEqual(fits["lost"], (None, None))
        self.assertEqual([row.get("layer_ms") for row in said["results"]], [2, 1, None, 4, 4, 0.5, 16, None, None])
        self.assertRegex(out.getvalue(), r"(?m)^linformer\.cpp +square +1\.00 +4\.00 +- +2\.00 +2\.00$")
        self.assertEqual(err.getvalue().count("could not be measured: died"), 3)
        with silent():
            self.assertEqual(growth.report(options, base, {512: [peer("lost", 0, "died")]}, quiet=False), 1)

    def test_growth_refuses_lengths_that_can_not_be_compared(self):
        for lengths, k, says in (([100, 128], 1, "100 is no multiple of 64"), ([64, 128], 65, "--k 65 is more than")):
            with self.assertRaisesRegex(UserError, says):
                growth.run(argparse.Namespace(n=lengths, k=k))

    def test_limits_are_medians_of_what_is_a_number(self):
        peers = [argparse.Namespace(limits=[{"f32": 3, "f16": None, "names": {}}, {"f32": 1}]), argparse.Namespace(),
                 argparse.Namespace(limits=[{"f32": 8, "bf16": 2}])]
        self.assertEqual(encode.limits_of(peers), {"bf16": 2, "f32": 3})

    def test_columns_are_as_wide_as_their_widest_cell(self):
        with silent() as (out, _):
            common.print_table([("engine", "<"), ("ms", ">")], [["a", "12.50"], ["longer name", "1"]])
        self.assertEqual(out.getvalue(), "engine          ms\na            12.50\nlonger name      1\n")


class Texts(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def path(self, name, data=None):
        path = os.path.join(self.folder, name)
        if data is not None:
            with open(path, "wb") as file:
                file.write(data)
        return path

    def test_lines_of_plain_and_of_compressed_files(self):
        text = "one\ntwo \u00e9".encode()
        for path in (self.path("a.txt", text), self.path("a.txt.gz", gzip.compress(text))):
            self.assertEqual(list(texts.lines_of(path)), ["one\n", "two \u00e9"])

    def test_files_that_can_not_be_read(self):
        whole = gzip.compress(os.urandom(5000).hex().encode())
        for path in (self.path("absent"), self.path("a", b"one\n\xff\n"), self.path("a.gz", b"one\n"),
                     self.path("b.gz", whole[:-2000]), self.path("c.gz", whole[:999] + b"x" * 99 + whole[1100:])):
            with self.subTest(path=path), self.assertRaises(UserError) as said:
                list(texts.lines_of(path))
            self.assertTrue(str(said.exception).startswith(f"{path} can't be read: "), said.exception)

    def test_records(self):
        path = self.path("a.jsonl", b'{"said": "one", "is": 1}\n\n{"said": "two"}\n{"said": 3}\n')
        options = argparse.Namespace(texts=path, text_field="said", label_field="is", count=2)
        self.assertEqual(classify.read_records(options), (["one", "two"], [1, None]))
        options.count = None
        other = b'{"said": "a"}\n{"text": "b"}'
        for line, data in ((4, None), (1, b"no json"), (1, b"[]"), (1, b'"said"'), (2, other)):
            if data:
                options.texts = self.path("b.jsonl", data)
            with self.assertRaisesRegex(UserError, f"line {line} is no record"):
                classify.read_records(options)
        options.texts = self.path("c.jsonl", b"\n\n")
        with self.assertRaisesRegex(UserError, "has no records"):
            classify.read_records(options)

    def test_labels_are_names_or_numbers(self):
        names = ["negative", "positive", "0"]
        self.assertEqual(classify.indices(["positive", 1, "1", "negative"], names).tolist(), [1, 1, 1, 0])
        self.assertEqual(classify.indices([0, "2"], names).tolist(), [2, 2])  # A name is preferred to a number.
        for unknown in (None, "neutral", 3, -1):
            self.assertIsNone(classify.indices(["positive", unknown], names))

    def test_answers_of_a_classifier(self):
        wanted = [[2, 1], [0, 3], [1, 0], [0, 1e-5]]
        for precision, logits, agrees, other, accuracy in (
                ("f32", wanted, True, 0, 0.75), ("bf16", wanted, None, 0, 0.75),
                ("f32", [[2, 1], [0, 3], [1, 0], [0, 0.001]], False, 0, 0.75),
                ("f32", [[2, 1], [0, 3], [1, 0], [1e-5, 0]], False, 1, 1),
                ("f32", [[2, 1], [0, 3], [1, 0], [0, math.nan]], False, 0, 0.75)):
            peers = [turns.Peer("pytorch", "f32"), turns.Peer("linformer", precision), turns.Peer("openvino", "f32")]
            peers[2].error = "died"
            outputs = {peer: self.path(f"{i}.npy") for i, peer in enumerate(peers)}
            np.save(outputs[peers[0]], np.array(wanted, np.float64))
            np.save(outputs[peers[1]], np.array(logits, np.float64))
            with self.subTest(logits=logits):
                self.assertIs(classify.compare(peers, outputs, peers[0], np.array([0, 1, 0, 0])), agrees)
                self.assertEqual((peers[1].figures["other_labels"], peers[1].figures["accuracy"]), (other, accuracy))
                self.assertEqual((peers[0].figures["largest_logit_difference"], peers[2].figures), (0, {}))
            del peers[1].figures["other_labels"]
            self.assertIsNone(classify.compare(peers, outputs, None, None))
            self.assertNotIn("other_labels", peers[1].figures)

    def test_texts_a_second(self):
        peer, failed = turns.Peer("onnxruntime", "f32", graph="plain"), turns.Peer("openvino", "int8")
        peer.times, peer.peak, failed.error = [0.5, 0.25, 1.0], 10.4, "died"
        self.assertEqual([row.get("texts_per_second") for row in texts.rows_of([peer, failed], 100)], [200, None])
        with silent() as (out, err):
            texts.report([peer, failed], 100, "sentences", [("accuracy", "accuracy", ".4f")])
        self.assertRegex(out.getvalue(), r"(?m)^ONNX Runtime plain +f32 +200\.0 +400\.0 +10 +- +-$")
        self.assertEqual(err.getvalue(), "peers.py: OpenVINO int8 could not be measured: died\n")

    def test_calibration_takes_runs_of_neighbours_from_the_shortest_to_the_longest(self):
        self.assertEqual([list(run) for run in texts.spread(10, 3, 2)], [[0, 1], [4, 5], [8, 9]])
        self.assertEqual([list(run) for run in texts.spread(3, 2, 32)], [[0, 1, 2]] * 2)
        self.assertEqual([list(run) for run in texts.spread(5, 1, 2)], [[0, 1]])

    def test_frames_are_cut_and_padded(self):
        ids, mask = framing.batch([[7, 8, 9, 10], [5], []], 5)
        self.assertEqual(ids.tolist(), [[0, 7, 8, 9, 2], [0, 5, 2, 1, 1], [0, 2, 1, 1, 1]])
        self.assertEqual(mask.tolist(), [[1, 1, 1, 1, 1], [1, 1, 1, 0, 0], [1, 1, 0, 0, 0]])

    def test_ids_are_drawn_by_length_and_without_special_tokens(self):
        files = argparse.Namespace(vocabulary=9, path=self.path)
        drawn = {}
        for n in (50, 60, 50):
            ids, calibration = (np.load(path) for path in encode.write_ids(files, n, 2))
            self.assertEqual((ids.shape, ids.dtype, set(ids[0].tolist())), ((1, n), np.int64, set(range(4, 9))))
            self.assertEqual(sorted(calibration.files), ["0_ids", "1_ids"])
            others = [calibration[name] for name in calibration.files]
            self.assertFalse((others[0] == ids).all() or (others[0] == others[1]).all())
            self.assertEqual(drawn.setdefault(n, ids.tolist()), ids.tolist())
            calibration.close()


    def test_files_of_one_length_are_removed_before_the_next(self):
        loaded = {}

        def take(peers, rounds, seconds, what, outputs):
            """Creates and notes the files that a measurement creates for one length."""
            for peer in peers:
                steps = [step["out"] for step in getattr(peer, "steps", ())]
                for path in [*steps, outputs[peer]]:
                    with open(path, "wb"):
                        pass
                graph = os.path.basename(peer.spec.get("graph", "-")) if steps else "-"
                loaded[peer.engine, peer.precision] = (graph, [os.path.basename(step) for step in steps])

        self.path("weights.safetensors", b"")  # This file is for all lengths.
        files = argparse.Namespace(vocabulary=LINFORMER.vocabulary, path=self.path, folder=self.folder, checkpoint="",
                                   settings=None, task=lambda n: {"task": "encode"},
                                   graph=lambda n, fused, out: {"kind": "graph", "out": out})
        options = argparse.Namespace(engines=["pytorch", "onnxruntime", "openvino", "linformer"], calibrations=1,
                                     precisions=["f32", "bf16", "int8"], threads=1, rounds=1, seconds=0, found=[])
        with mock.patch.object(turns, "take_turns", take), mock.patch.object(encode, "compare_all"):
            encode.measure(options, files, mock.Mock(), 6)
        self.assertEqual(loaded, {
            ("pytorch", "f32"): ("-", []), ("pytorch", "bf16"): ("-", []),
            ("onnxruntime", "f32"): ("fused.onnx", ["fused.onnx"]),
            ("onnxruntime", "int8"): ("int8.onnx", ["fused.onnx", "int8.onnx"]),
            ("openvino", "f32"): ("plain.xml", ["plain.onnx", "plain.xml"]),
            ("openvino", "bf16"): ("plain.xml", ["plain.onnx", "plain.xml"]),
            ("openvino", "int8"): ("int8.xml", ["plain.onnx", "int8.xml"]),
            **{("linformer", precision): ("-", []) for precision in options.precisions}})
        self.assertEqual(sorted(os.listdir(self.folder)), ["calibration.npz", "ids.npy", "weights.safetensors"])


LINFORMER = w.Shape(layers=2, d=8, heads=2, ffn=12, vocabulary=20, k=3, longest=7, eps=1e-5, first=2, pad=1)
BERT = LINFORMER._replace(k=0, eps=1e-12, first=0, pad=0)


class Weights(unittest.TestCase):
    def test_names(self):
        bert = w.names(BERT, types=True)
        self.assertEqual(len(bert), 3 + 2 + 2 * 16)
        self.assertEqual(w.names(LINFORMER)[:5], ["tokens", "positions", "norm.weight", "norm.bias", "compress"])
        self.assertEqual(w.names(BERT)[-1], "layers.1.ffn_norm.bias")
        self.assertEqual(w.names(BERT, classifier=True)[-4:], ["dense.weight", "dense.bias", "out.weight", "out.bias"])
        for dialect, ours in ((w.BERT, bert), (w.FAIRSEQ, w.names(LINFORMER, classifier=True))):
            theirs = [w.name_in(dialect, name) for name in ours]
            self.assertNotIn(None, theirs)
            self.assertEqual(len(set(theirs)), len(ours))

    def test_names_that_checkpoints_have(self):
        for dialect, ours, theirs in (
                (w.BERT, "tokens", "embeddings.word_embeddings.weight"),
                (w.BERT, "norm.bias", "embeddings.LayerNorm.bias"),
                (w.BERT, "layers.11.key.bias", "encoder.layer.11.attention.self.key.bias"),
                (w.BERT, "layers.0.attention_norm.weight", "encoder.layer.0.attention.output.LayerNorm.weight"),
                (w.BERT, "layers.0.ffn_in.weight", "encoder.layer.0.intermediate.dense.weight"),
                (w.BERT, "compress", None), (w.BERT, "dense.weight", None), (w.FAIRSEQ, "types", None),
                (w.FAIRSEQ, "layers.1.value.weight", "encoder.sentence_encoder.layers.1.self_attn.v_proj.weight"),
                (w.FAIRSEQ, "layers.1.ffn_out.bias", "encoder.sentence_encoder.layers.1.fc2.bias"),
                (w.FAIRSEQ, "compress", "encoder.sentence_encoder.layers.0.self_attn.compress_k.weight"),
                (w.FAIRSEQ, "out.bias", "classification_heads.sentence_classification_head.out_proj.bias")):
            self.assertEqual(w.name_in(dialect, ours), theirs)
        with self.assertRaises(KeyError):
            w.name_in(w.BERT, "layers.0.gate.weight")

    def test_random_weights_have_their_shapes_and_come_again(self):
        s = LINFORMER._replace(d=64, heads=4, ffn=96, vocabulary=200, k=30, longest=100)
        made, again, other = (w.random_weights(s, types, seed) for types, seed in ((0, 1), (0, 1), (2, 2)))
        self.assertEqual((list(made), list(other)), (w.names(s), w.names(s, types=True)))
        for name, shape in (("tokens", (200, 64)), ("positions", (102, 64)), ("compress", (30, 100)),
                            ("types", (2, 64)), ("norm.weight", (64,)), ("layers.1.query.weight", (64, 64)),
                            ("layers.1.ffn_in.weight", (96, 64)), ("layers.1.ffn_in.bias", (96,)),
                            ("layers.1.ffn_out.weight", (64, 96)), ("layers.1.ffn_out.bias", (64,))):
            self.assertEqual(other[name].shape, shape, name)
        for name, value in made.items():
            self.assertEqual(value.dtype, np.float32)
            np.testing.assert_array_equal(value, again[name])
            self.assertFalse((value == other[name]).all(), name)
        for name, mean, spread in (("tokens", 0, 0.02), ("compress", 0, 0.1), ("layers.0.ffn_norm.weight", 1, 0.02)):
            self.assertAlmostEqual(made[name].mean(), mean, delta=0.01)
            self.assertAlmostEqual(made[name].std() / spread, 1, delta=0.3)

    def test_a_checkpoint_of_bert_is_read_as_it_was_saved(self):
        weights = w.random_weights(BERT, 2, 5)
        with tempfile.TemporaryDirectory() as folder:
            with self.assertRaisesRegex(UserError, "has no BERT in config.json"):
                w.read_bert(folder)
            self.assertEqual(w.save_checkpoint(folder, weights, BERT), (folder, None))
            for prefix in ("", "bert."):
                path = os.path.join(folder, "model.safetensors")
                w.save(path, {prefix + name: value for name, value in w.load(path).items()})
                shape, read = w.read_bert(folder)
                self.assertEqual(shape, BERT)
                self.assertEqual(list(read), list(weights))
                for name, value in weights.items():
                    np.testing.assert_array_equal(read[name], value)
            saved = w.load(path)
            w.save(path, {name: value for name, value in saved.items() if "encoder.layer.1.output.dense" not in name})
            with self.assertRaisesRegex(UserError, "encoder.layer.1.output.dense.weight is missing"):
                w.read_bert(folder)
            whole = w.bert_config(BERT, "bert")
            for config, says in (({**whole, "model_type": "roberta"}, "only a BERT with gelu"),
                                 ({**whole, "hidden_act": "gelu_new"}, "only a BERT with gelu"),
                                 ({"model_type": "bert", "hidden_act": "gelu"}, "has no num_hidden_layers")):
                with open(os.path.join(folder, "config.json"), "w", encoding="utf-8") as file:
                    json.dump(config, file)
                with self.assertRaisesRegex(UserError, says):
                    w.read_bert(folder)

    def test_a_linformer_has_its_projection_in_every_layer(self):
        weights = w.random_weights(LINFORMER, 0, 5)
        with tempfile.TemporaryDirectory() as folder:
            path, settings = w.save_checkpoint(folder, weights, LINFORMER)
            saved = w.load(path)
        self.assertEqual((settings["encoder_attention_heads"], settings["shared_kv_compressed"]), (2, 1))
        copies = [value for name, value in saved.items() if name.endswith(".compress_k.weight")]
        self.assertEqual((len(copies), len(saved)), (2, len(weights) + 1))
        for copy in copies:
            np.testing.assert_array_equal(copy, weights["compress"])
        classifier = {w.name_in(w.FAIRSEQ, name): np.ones(1) for name in w.names(LINFORMER, classifier=True)[-4:]}
        read = w.from_fairseq({**saved, **classifier}, LINFORMER)
        self.assertEqual(list(read), w.names(LINFORMER, classifier=True))
        for name, value in weights.items():
            np.testing.assert_array_equal(read[name], value)


if __name__ == "__main__":
    unittest.main()
