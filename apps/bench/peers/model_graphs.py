"""Writes ONNX graphs of models that transformers saved, for one text of n tokens: ModernBERT and MPNet.

As in graphs.py, a fused graph has ONNX Runtime's own operators, here for attention and rotation.
"""
import json
import os

import numpy as np

from .graphs import FUSED, Graph


class ModelGraph(Graph):
    """A graph whose weights have the names of the checkpoint. `eps` is that of the layer norms."""

    def __init__(self, weights, config, n, fused, eps):
        super().__init__(weights, None, fused)
        self.n, self.heads, self.d, self.eps = n, config["num_attention_heads"], config["hidden_size"], eps
        self.d_head = self.d // self.heads

    def norm(self, x, name):
        bias = [self.weight(name + ".bias")] if name + ".bias" in self.weights else []
        return self.add("LayerNormalization", x, self.weight(name + ".weight"), *bias, axis=-1, epsilon=self.eps)

    def maybe_biased(self, x, name):
        return self.linear(x, name) if name + ".bias" in self.weights else self.product(x, name)

    def split(self, x):
        heads = self.add("Reshape", x, self.integers(0, -1, self.heads, self.d_head))
        return self.add("Transpose", heads, perm=[0, 2, 1, 3])

    def attend(self, q, k, v, bias):
        """Adds attention of rows [1, n, d]. `bias` is [1, 1 or heads, n, n] and is added to the scores, or None."""
        if self.fused:
            inputs = [q, k, v] + (["", "", bias] if bias else [])
            return self.add("MultiHeadAttention", *inputs, domain=FUSED, num_heads=self.heads)
        q, k, v = (self.split(x) for x in (q, k, v))
        return self.attend_heads(q, k, v, bias)

    def attend_heads(self, q, k, v, bias):
        turned = self.add("Transpose", k, perm=[0, 1, 3, 2])
        scores = self.add("Mul", self.add("MatMul", q, turned), self.number(self.d_head ** -0.5))
        if bias:
            scores = self.add("Add", scores, bias)
        context = self.add("MatMul", self.add("Softmax", scores, axis=-1), v)
        return self.add("Reshape", self.add("Transpose", context, perm=[0, 2, 1, 3]), self.integers(0, -1, self.d))


class Rotation:
    """Rotates queries and keys by their positions (RoPE). Channel j of a head is paired with channel j + d_head / 2."""

    def __init__(self, graph, base, name):
        half = graph.d_head // 2
        angles = np.outer(np.arange(graph.n), base ** (-np.arange(half) / half))
        self.graph = graph
        if graph.fused:
            self.tables = [graph.constant(f(angles).astype(np.float32), f"{name}.{f.__name__}")
                           for f in (np.cos, np.sin)]
            self.positions = graph.constant(np.arange(graph.n, dtype=np.int64)[None], "positions")
        else:
            self.tables = [graph.constant(np.tile(f(angles), 2).astype(np.float32), f"{name}.{f.__name__}")
                           for f in (np.cos, np.sin)]

    def rows(self, x):
        """Rotates rows [1, n, d], in a fused graph."""
        return self.graph.add("RotaryEmbedding", x, self.positions, *self.tables, domain=FUSED,
                              num_heads=self.graph.heads)

    def heads(self, x):
        """Rotates heads [1, heads, n, d_head], in a graph of standard operators."""
        add, integers = self.graph.add, self.graph.integers
        half = self.graph.d_head // 2
        low = add("Slice", x, integers(0), integers(half), integers(3))
        high = add("Slice", x, integers(half), integers(2 * half), integers(3))
        turned = add("Concat", add("Neg", high), low, axis=-1)
        return add("Add", add("Mul", x, self.tables[0]), add("Mul", turned, self.tables[1]))


def modernbert(weights, config, n, fused):
    graph = ModelGraph(weights, config, n, fused, config["norm_eps"])
    positions = np.arange(n)
    window = np.abs(positions[:, None] - positions) <= config["local_attention"] // 2
    kinds = {}
    for kind, masked in (("full_attention", None), ("sliding_attention", window)):
        bias = None
        if masked is not None and not masked.all():
            # The graph has the window as booleans, which need less memory than the bias. Engines compute the bias once,
            # when they load the graph.
            bias = graph.add("Where", graph.constant(masked[None, None], "window"), graph.number(0),
                             graph.number(np.finfo(np.float32).min))
        kinds[kind] = (Rotation(graph, config["rope_parameters"][kind]["rope_theta"], kind), bias)
    x = graph.norm(graph.add("Gather", graph.weight("embeddings.tok_embeddings.weight"), "ids"), "embeddings.norm")
    for i, kind in enumerate(config["layer_types"]):
        part, (rotation, bias) = f"layers.{i}.", kinds[kind]
        rows = x if i == 0 else graph.norm(x, part + "attn_norm")
        qkv = graph.maybe_biased(rows, part + "attn.Wqkv")
        q, k, v = (graph.add("Slice", qkv, graph.integers(j * graph.d), graph.integers((j + 1) * graph.d),
                             graph.integers(2)) for j in range(3))
        if fused:
            context = graph.attend(rotation.rows(q), rotation.rows(k), v, bias)
        else:
            q, k = (rotation.heads(graph.split(rows)) for rows in (q, k))
            context = graph.attend_heads(q, k, graph.split(v), bias)
        x = graph.add("Add", x, graph.maybe_biased(context, part + "attn.Wo"))
        inner = graph.maybe_biased(graph.norm(x, part + "mlp_norm"), part + "mlp.Wi")
        width = config["intermediate_size"]
        low, high = (graph.add("Slice", inner, graph.integers(j * width), graph.integers((j + 1) * width),
                               graph.integers(2)) for j in range(2))
        inner = graph.add("Mul", graph.add("Gelu", low), high)
        x = graph.add("Add", x, graph.maybe_biased(inner, part + "mlp.Wo"))
    return graph, graph.norm(x, "final_norm")


def mpnet_buckets(n, buckets=32, farthest=128):
    """Returns [n, n], the row of the bias table for each query (row) and key (column)."""
    distance = np.arange(n)[:, None] - np.arange(n)  # query - key
    half = buckets // 2
    exact = half // 2
    far = np.abs(distance)
    with np.errstate(divide="ignore"):
        logarithm = np.log(far.astype(np.float32) / exact) / np.float32(np.log(farthest / exact)) * (half - exact)
    large = np.minimum(exact + np.where(far < exact, 0, logarithm).astype(np.int64), half - 1)
    return np.where(distance < 0, half, 0) + np.where(far < exact, far, large)


def mpnet(weights, config, n, fused):
    graph = ModelGraph(weights, config, n, fused, config["layer_norm_eps"])
    table = weights["encoder.relative_attention_bias.weight"]
    bias = graph.constant(table[mpnet_buckets(n, len(table))].transpose(2, 0, 1)[None], "position_bias")
    first = config["pad_token_id"] + 1
    positions = weights["embeddings.position_embeddings.weight"][first:first + n]
    tokens = graph.add("Gather", graph.weight("embeddings.word_embeddings.weight"), "ids")
    x = graph.norm(graph.add("Add", tokens, graph.constant(positions, "positions")), "embeddings.LayerNorm")
    for i in range(config["num_hidden_layers"]):
        part = f"encoder.layer.{i}."
        q, k, v = (graph.linear(x, part + "attention.attn." + name) for name in "qkv")
        context = graph.linear(graph.attend(q, k, v, bias), part + "attention.attn.o")
        x = graph.norm(graph.add("Add", x, context), part + "attention.LayerNorm")
        inner = graph.add("Gelu", graph.linear(x, part + "intermediate.dense"))
        x = graph.norm(graph.add("Add", x, graph.linear(inner, part + "output.dense")), part + "output.LayerNorm")
    return graph, x


def write(path, folder, n, fused):
    """Writes the graph of a model that save_pretrained wrote. Its input is ids, int64 [1, n], its output [1, n, d]."""
    from safetensors.numpy import load_file
    with open(os.path.join(folder, "config.json"), encoding="utf-8") as file:
        config = json.load(file)
    weights = load_file(os.path.join(folder, "model.safetensors"))
    make = {"modernbert": modernbert, "mpnet": mpnet}[config["model_type"]]
    graph, result = make(weights, config, n, fused)
    graph.save(path, [("ids", [1, n])], result, [1, n, graph.d])
