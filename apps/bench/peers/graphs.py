"""Writes ONNX graphs of an encoder node by node, so that the graphs don't depend on an exporter.

A fused graph has ONNX Runtime's own operators (MultiHeadAttention, SkipLayerNormalization, BiasGelu), which are the
best result of its optimizer for a transformer. Other graphs have standard operators, which OpenVINO reads, too.
"""
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

FUSED = "com.microsoft"
# LayerNormalization needs version 17 of the operators, and Gelu version 20.
OPSET, IR = 20, 9


class Graph:
    def __init__(self, weights, shape, fused):
        self.weights, self.shape, self.fused = weights, shape, fused
        self.nodes, self.constants, self.known, self.count = [], [], {}, 0

    def constant(self, value, name=None):
        if name is None:
            key = (value.tobytes(), value.dtype.str, value.shape) if value.size < 16 else None
            if key in self.known:
                return self.known[key]
            name = f"constant_{len(self.constants)}"
            if key:
                self.known[key] = name
        elif name in self.known:
            return name
        self.known[name] = name
        self.constants.append(numpy_helper.from_array(np.ascontiguousarray(value), name))
        return name

    def integers(self, *values):
        return self.constant(np.array(values, dtype=np.int64))

    def number(self, value):
        return self.constant(np.array(value, dtype=np.float32))

    def weight(self, name):
        return self.constant(self.weights[name], name)

    def add(self, kind, *inputs, domain="", **attributes):
        self.count += 1
        name = f"{kind}_{self.count}"
        self.nodes.append(helper.make_node(kind, list(inputs), [name], name=name, domain=domain, **attributes))
        return name

    def product(self, x, name):
        """Adds the product of a linear layer, without its bias. The weight is stored transposed, as MatMul needs it."""
        return self.add("MatMul", x, self.constant(self.weights[name + ".weight"].T, name + ".transposed"))

    def linear(self, x, name):
        return self.add("Add", self.product(x, name), self.weight(name + ".bias"))

    def norm(self, x, name):
        return self.add("LayerNormalization", x, self.weight(name + ".weight"), self.weight(name + ".bias"), axis=-1,
                        epsilon=self.shape.eps)

    def add_and_norm(self, x, product, linear, norm):
        """Adds norm(x + product + bias of the linear layer)."""
        if self.fused:
            return self.add("SkipLayerNormalization", x, product, self.weight(norm + ".weight"),
                            self.weight(norm + ".bias"), self.weight(linear + ".bias"), domain=FUSED,
                            epsilon=self.shape.eps)
        return self.norm(self.add("Add", x, self.add("Add", product, self.weight(linear + ".bias"))), norm)

    def heads(self, x, transposed=False):
        s = self.shape
        split = self.add("Reshape", x, self.integers(0, -1, s.heads, s.d // s.heads))
        return self.add("Transpose", split, perm=[0, 2, 3, 1] if transposed else [0, 2, 1, 3])

    def attention(self, queries, source, layer, mask):
        """Adds attention. `source` are the rows that keys and values are made of.

        `mask` is int32 [batch, n] in a fused graph, otherwise a float [batch, 1, 1, n] that is added to the scores. If
        it is None, nothing is masked.
        """
        s, part = self.shape, f"layers.{layer}."
        if self.fused:
            rows = [self.product(x, part + p) for x, p in ((queries, "query"), (source, "key"), (source, "value"))]
            bias = np.concatenate([self.weights[part + p + ".bias"] for p in ("query", "key", "value")])
            return self.add("MultiHeadAttention", *rows, self.constant(bias, part + "bias"), *([mask] if mask else []),
                            domain=FUSED, num_heads=s.heads)
        q = self.heads(self.linear(queries, part + "query"))
        k = self.heads(self.linear(source, part + "key"), transposed=True)
        v = self.heads(self.linear(source, part + "value"))
        scores = self.add("Mul", self.add("MatMul", q, k), self.number((s.d // s.heads) ** -0.5))
        if mask:
            scores = self.add("Add", scores, mask)
        context = self.add("Transpose", self.add("MatMul", self.add("Softmax", scores, axis=-1), v), perm=[0, 2, 1, 3])
        return self.add("Reshape", context, self.integers(0, -1, s.d))

    def layer(self, x, layer, mask, keep, projection, first_row):
        part = f"layers.{layer}."
        source = x
        if projection:
            # The Linformer first compresses the rows x to the k rows E x. Keys and values are computed from these.
            source = self.add("MatMul", projection, self.add("Mul", x, keep) if keep else x)
        if first_row:
            x = self.add("Slice", x, self.integers(0), self.integers(1), self.integers(1))
        context = self.attention(x, source, layer, mask)
        x = self.add_and_norm(x, self.product(context, part + "output"), part + "output", part + "attention_norm")
        inner = self.product(x, part + "ffn_in")
        bias = self.weight(part + "ffn_in.bias")
        inner = self.add("BiasGelu", inner, bias, domain=FUSED) if self.fused else self.add(
            "Gelu", self.add("Add", inner, bias))
        return self.add_and_norm(x, self.product(inner, part + "ffn_out"), part + "ffn_out", part + "ffn_norm")

    def save(self, path, inputs, x, sizes):
        """Saves the graph. `inputs` are names and sizes of int64 inputs. `x` becomes the output, with these `sizes`."""
        self.nodes.append(helper.make_node("Identity", [x], ["result"]))
        given = [helper.make_tensor_value_info(name, TensorProto.INT64, shape) for name, shape in inputs]
        result = helper.make_tensor_value_info("result", TensorProto.FLOAT, sizes)
        model = helper.make_model(
            helper.make_graph(self.nodes, "encoder", given, [result], self.constants), ir_version=IR,
            opset_imports=[helper.make_opsetid("", OPSET)] + [helper.make_opsetid(FUSED, 1)] * self.fused)
        onnx.save(model, path)


def write(path, weights, shape, fused, n=None, masked=False, classifier=False):
    """Writes the graph of an encoder.

    The inputs are ids and, if `masked`, mask: int64 [batch, n]. If `n` is given, the graph is for one text of n tokens.
    The output is hidden [batch, n, d], or logits [batch, classes] for a classifier. A classifier reads only the first
    row, so its last layer computes only this row.
    """
    graph = Graph(weights, shape, fused)
    sizes = ["batch", "tokens"] if n is None else [1, n]
    if n is None:
        length = graph.add("Slice", graph.add("Shape", "ids"), graph.integers(1), graph.integers(2))
        begin, end = graph.integers(shape.first), graph.add("Add", length, graph.integers(shape.first))
        positions = graph.add("Slice", graph.weight("positions"), begin, end)
        projection = shape.k and graph.add("Slice", graph.weight("compress"), graph.integers(0), length,
                                           graph.integers(1))
    else:
        positions = graph.constant(weights["positions"][shape.first:shape.first + n], "positions")
        projection = shape.k and graph.constant(weights["compress"][:, :n], "compress")
    x = graph.add("Add", graph.add("Gather", graph.weight("tokens"), "ids"), positions)
    if "types" in weights:
        x = graph.add("Add", x, graph.constant(weights["types"][0], "type"))
    x = graph.norm(x, "norm")
    mask = keep = None
    if masked and shape.k:
        keep = graph.add("Unsqueeze", graph.add("Cast", "mask", to=TensorProto.FLOAT), graph.integers(2))
    elif masked and fused:
        mask = graph.add("Cast", "mask", to=TensorProto.INT32)
    elif masked:
        left_out = graph.add("Sub", graph.number(1), graph.add("Cast", "mask", to=TensorProto.FLOAT))
        mask = graph.add("Unsqueeze", graph.add("Mul", left_out, graph.number(-1e9)), graph.integers(1, 2))
    for layer in range(shape.layers):
        x = graph.layer(x, layer, mask, keep, projection, classifier and layer == shape.layers - 1)
    if classifier:
        row = graph.add("Squeeze", x, graph.integers(1))
        x = graph.linear(graph.add("Tanh", graph.linear(row, "dense")), "out")
    width = weights["out.weight"].shape[0] if classifier else shape.d
    graph.save(path, [("ids", sizes)] + [("mask", sizes)] * masked, x,
               sizes[:1] + [width] if classifier else sizes + [width])
