#!/usr/bin/env python3
"""Tests the graphs that peers.py writes for ONNX Runtime and OpenVINO. NumPy computes them."""
import json
import math
import os
import tempfile
import unittest

from stand_ins import GRAPHS, computed, encoded, gelu, layer_norm, np, save_file, softmax

from figures_test import BERT, LINFORMER
from peers import graphs, model_graphs
from peers import weights as w


class Graphs(unittest.TestCase):
    """Compares the graphs, computed by NumPy, with an encoder that doesn't use graphs."""

    def setUp(self):
        self.chance = np.random.default_rng(3)

    def cases(self):
        for shape, types in ((LINFORMER, 0), (LINFORMER._replace(k=0), 0), (BERT, 2)):
            weights = {name: 10 * value for name, value in w.random_weights(shape, types, 4).items()}
            yield from ((weights, shape, fused) for fused in (False, True))

    def assert_near(self, rows, wanted, *case):
        np.testing.assert_allclose(rows, wanted, atol=1e-6, err_msg=repr(case))

    def test_one_text(self):
        for weights, shape, fused in self.cases():
            for n in (2, 7):  # Fewer tokens than k, and the largest number.
                ids = self.chance.integers(0, shape.vocabulary, n)
                graphs.write("one", weights, shape, fused, n)
                self.assert_near(computed("one", ids=ids[None])[0], encoded(weights, shape, ids), shape, fused, n)

    def test_texts_that_are_padded(self):
        lengths = [5, 2, 7]
        mask = (np.arange(7) < np.array(lengths)[:, None]).astype(np.int64)
        for weights, shape, fused in self.cases():
            ids = self.chance.integers(0, shape.vocabulary, mask.shape)
            graphs.write("padded", weights, shape, fused, masked=True)
            hidden = computed("padded", ids=ids, mask=mask)
            for row, text, n in zip(hidden, ids, lengths):
                self.assert_near(row[:n], encoded(weights, shape, text[:n]), shape, fused, n)

    def test_a_classifier_reads_the_first_row(self):
        for weights, shape, fused in self.cases():
            head = {"dense": self.chance.standard_normal((8, 8)), "out": self.chance.standard_normal((3, 8))}
            for name, value in head.items():
                weights.update({name + ".weight": value, name + ".bias": value[:, 0]})
            ids = self.chance.integers(0, shape.vocabulary, (2, 6))
            graphs.write("classifier", weights, shape, fused, masked=True, classifier=True)
            logits = computed("classifier", ids=ids, mask=np.ones_like(ids))
            for row, text in zip(logits, ids):
                first = np.tanh(head["dense"] @ encoded(weights, shape, text)[0] + head["dense"][:, 0])
                self.assert_near(row, head["out"] @ first + head["out"][:, 0], shape, fused)

    def graph_of(self, config, weights, n, fused):
        """Returns the rows that the graph of a model with these weights gives for n random ids, and the ids."""
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "config.json"), "w", encoding="utf-8") as file:
                json.dump(config, file)
            save_file(weights, os.path.join(folder, "model.safetensors"))
            model_graphs.write("model", folder, n, fused)
        ids = self.chance.integers(0, config["vocab_size"], n)
        rows = computed("model", ids=ids[None])
        self.assertEqual(rows.shape, tuple(GRAPHS["model"][2][0][2]))
        return rows[0], ids

    def random(self, shapes):
        return {name: self.chance.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()}

    def test_modernbert(self):
        d, width, heads = 8, 6, 2
        kinds = ["full_attention", "sliding_attention"]
        config = {"model_type": "modernbert", "vocab_size": 11, "hidden_size": d, "num_attention_heads": heads,
                  "intermediate_size": width, "norm_eps": 1e-5, "local_attention": 4, "layer_types": kinds,
                  "rope_parameters": {kinds[0]: {"rope_theta": 160.0}, kinds[1]: {"rope_theta": 10.0}}}
        shapes = {"embeddings.tok_embeddings.weight": (11, d), "embeddings.norm.weight": (d,),
                  "layers.1.attn_norm.weight": (d,), "final_norm.weight": (d,)}
        for i in (0, 1):
            shapes.update({f"layers.{i}.attn.Wqkv.weight": (3 * d, d), f"layers.{i}.attn.Wo.weight": (d, d),
                           f"layers.{i}.mlp_norm.weight": (d,), f"layers.{i}.mlp.Wi.weight": (2 * width, d),
                           f"layers.{i}.mlp.Wo.weight": (d, width)})
        weights = self.random(shapes)
        w = {name: value.astype(np.float64) for name, value in weights.items()}

        def norm(x, name):
            return layer_norm(x, w[name + ".weight"], 0, 1e-5)

        def turned(rows, theta):
            """Rotates pairs of a head's channels, i and i + half, as complex numbers, by the position."""
            half = d // heads // 2
            turns = np.exp(1j * np.outer(np.arange(len(rows)), theta ** (-np.arange(half) / half)))
            pairs = rows.reshape(-1, heads, 2, half)
            pairs = (pairs[:, :, 0] + 1j * pairs[:, :, 1]) * turns[:, None]
            return np.concatenate([pairs.real, pairs.imag], -1)

        for n in (2, 7):
            for fused in (False, True):
                rows, ids = self.graph_of(config, weights, n, fused)
                x = norm(w["embeddings.tok_embeddings.weight"][ids], "embeddings.norm")
                for i, kind in enumerate(kinds):
                    part = f"layers.{i}."
                    source = norm(x, part + "attn_norm") if i else x
                    q, k, v = np.split(source @ w[part + "attn.Wqkv.weight"].T, 3, axis=1)
                    theta = config["rope_parameters"][kind]["rope_theta"]
                    scores = np.einsum("qhc,khc->hqk", turned(q, theta), turned(k, theta)) / math.sqrt(d // heads)
                    far = np.abs(np.arange(n)[:, None] - np.arange(n)) > 2
                    if i == 1:
                        scores[:, far] = -np.inf
                    context = np.einsum("hqk,khc->qhc", softmax(scores), v.reshape(n, heads, -1)).reshape(n, d)
                    x = x + context @ w[part + "attn.Wo.weight"].T
                    inner, gate = np.split(norm(x, part + "mlp_norm") @ w[part + "mlp.Wi.weight"].T, 2, axis=1)
                    x = x + (gelu(inner) * gate) @ w[part + "mlp.Wo.weight"].T
                self.assert_near(rows, norm(x, "final_norm"), n, fused)

    def test_mpnet(self):
        # The expected buckets are those of transformers' MPNetEncoder.relative_position_bucket.
        self.assertEqual(model_graphs.mpnet_buckets(300)[0, [0, 1, 7, 8, 11, 12, 16, 100, 299]].tolist(),
                         [0, 17, 23, 24, 24, 25, 26, 31, 31])
        self.assertEqual(model_graphs.mpnet_buckets(300)[299, [298, 291, 288, 283, 0]].tolist(), [1, 8, 8, 10, 15])
        d, heads = 8, 2
        config = {"model_type": "mpnet", "vocab_size": 11, "hidden_size": d, "num_attention_heads": heads,
                  "num_hidden_layers": 1, "layer_norm_eps": 1e-5, "pad_token_id": 1}
        part, shapes = "encoder.layer.0.", {"embeddings.word_embeddings.weight": (11, d),
                                            "embeddings.position_embeddings.weight": (20, d),
                                            "encoder.relative_attention_bias.weight": (32, heads)}
        for name, (rows, columns) in {**{"attention.attn." + letter: (d, d) for letter in "qkvo"},
                                      "intermediate.dense": (6, d), "output.dense": (d, 6)}.items():
            shapes.update({f"{part}{name}.weight": (rows, columns), f"{part}{name}.bias": (rows,)})
        for name in ("embeddings.LayerNorm", part + "attention.LayerNorm", part + "output.LayerNorm"):
            shapes.update({name + ".weight": (d,), name + ".bias": (d,)})
        weights = self.random(shapes)
        w = {name: value.astype(np.float64) for name, value in weights.items()}

        def linear(x, name):
            return x @ w[name + ".weight"].T + w[name + ".bias"]

        def norm(x, name):
            return layer_norm(x, w[name + ".weight"], w[name + ".bias"], 1e-5)

        for fused in (False, True):
            n = 18
            rows, ids = self.graph_of(config, weights, n, fused)
            x = norm(w["embeddings.word_embeddings.weight"][ids] + w["embeddings.position_embeddings.weight"][2:2 + n],
                     "embeddings.LayerNorm")
            q, k, v = (linear(x, f"{part}attention.attn.{name}").reshape(n, heads, -1) for name in "qkv")
            scores = np.einsum("qhc,khc->hqk", q, k) / math.sqrt(d // heads)
            for query in range(n):
                for key in range(n):
                    bucket = model_graphs.mpnet_buckets(n)[query, key]
                    scores[:, query, key] += w["encoder.relative_attention_bias.weight"][bucket]
            context = np.einsum("hqk,khc->qhc", softmax(scores), v).reshape(n, d)
            x = norm(x + linear(context, part + "attention.attn.o"), part + "attention.LayerNorm")
            x = norm(x + linear(gelu(linear(x, part + "intermediate.dense")), part + "output.dense"),
                     part + "output.LayerNorm")
            self.assert_near(rows, x, fused)


if __name__ == "__main__":
    unittest.main()
