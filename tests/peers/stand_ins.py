"""Imports NumPy or skips the tests of peers.py, and replaces packages that these tests don't need by
small stand-ins."""
import contextlib
import io
import json
import math
import os
import sys
import types

try:
    import numpy as np
except ImportError:
    print("skipped: NumPy is not installed")
    sys.exit(77)

BENCH = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "apps", "bench")
BENCH = os.path.normpath(BENCH)
sys.path.insert(0, BENCH)


class SafetensorError(Exception):
    """The exception that read_bert() catches."""


def save_file(tensors, path, metadata=None):
    header, begin = {"__metadata__": metadata or {}}, 0
    for name, value in tensors.items():
        if not isinstance(name, str) or value.dtype != np.float32 or not value.flags.c_contiguous:
            raise SafetensorError(f"{name!r} can't be saved")
        header[name] = {"dtype": "F32", "shape": value.shape, "data_offsets": [begin, begin + value.nbytes]}
        begin += value.nbytes
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for value in tensors.values():
            file.write(value.tobytes())


def load_file(path):
    with open(path, "rb") as file:
        header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
        data = file.read()
    del header["__metadata__"]
    return {name: np.frombuffer(data[slice(*one["data_offsets"])], np.float32).reshape(one["shape"])
            for name, one in header.items()}


def module(name, **contents):
    """Registers a replacement, also if the package is installed, so that tests behave the same everywhere."""
    sys.modules[name] = types.ModuleType(name)
    vars(sys.modules[name]).update(contents)
    return sys.modules[name]


module("safetensors", SafetensorError=SafetensorError,
       numpy=module("safetensors.numpy", save_file=save_file, load_file=load_file))

# The graphs that graphs.py has "saved". The key is the path.
GRAPHS = {}
module("onnx", save=lambda model, path: GRAPHS.update({path: model}),
       TensorProto=types.SimpleNamespace(FLOAT=np.float64, INT32=np.int32, INT64=np.int64),
       numpy_helper=types.SimpleNamespace(from_array=lambda value, name: (name, value)),
       helper=types.SimpleNamespace(
           make_node=lambda kind, inputs, outputs, name=None, domain="", **attributes:
               (kind, domain, inputs, outputs, attributes),
           make_tensor_value_info=lambda name, kind, sizes: (name, kind, sizes),
           make_graph=lambda nodes, name, inputs, outputs, constants: (nodes, inputs, outputs, constants),
           make_model=lambda graph, ir_version, opset_imports: graph,
           make_opsetid=lambda domain, number: (domain, number)))


def gelu(x):
    return x * (1 + np.vectorize(math.erf)(x / math.sqrt(2))) / 2


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def layer_norm(x, weight, bias, epsilon):
    centred = x - x.mean(-1, keepdims=True)
    return centred / np.sqrt((centred ** 2).mean(-1, keepdims=True) + epsilon) * weight + bias


def split(x, heads):
    return x.reshape(*x.shape[:-1], heads, -1).swapaxes(-2, -3)


def encoded(weights, shape, ids):
    """Runs the encoder as the papers describe it, for one text without mask. Returns [n, d] in double precision."""
    w = {name: value.astype(np.float64) for name, value in weights.items()}

    def linear(x, name):
        return x @ w[name + ".weight"].T + w[name + ".bias"]

    def norm(x, name):
        return layer_norm(x, w[name + ".weight"], w[name + ".bias"], shape.eps)

    n = len(ids)
    x = w["tokens"][ids] + w["positions"][shape.first:shape.first + n] + (w["types"][0] if "types" in w else 0)
    x = norm(x, "norm")
    for layer in range(shape.layers):
        part = f"layers.{layer}."
        source = w["compress"][:, :n] @ x if shape.k else x
        q, k, v = (split(linear(rows, part + name), shape.heads)
                   for rows, name in ((x, "query"), (source, "key"), (source, "value")))
        context = softmax(q @ k.swapaxes(-1, -2) / math.sqrt(shape.d // shape.heads)) @ v
        x = norm(x + linear(context.swapaxes(0, 1).reshape(n, -1), part + "output"), part + "attention_norm")
        x = norm(x + linear(gelu(linear(x, part + "ffn_in")), part + "ffn_out"), part + "ffn_norm")
    return x


def sliced(x, begin, end, axes=(0,)):
    parts = [slice(None)] * x.ndim
    for axis, first, last in zip(axes, begin, end):
        parts[axis] = slice(first, last)
    return x[tuple(parts)]


def reshaped(x, sizes):
    return x.reshape([x.shape[i] if size == 0 else size for i, size in enumerate(sizes)])


def multi_head_attention(q, k, v, bias=None, mask=None, added=None, *, num_heads):
    parts = np.zeros((3, 1)) if bias is None else np.split(bias, 3)
    q, k, v = (split(x + part, num_heads) for x, part in zip((q, k, v), parts))
    scores = q @ k.swapaxes(-1, -2) / math.sqrt(q.shape[-1])
    if added is not None:
        scores = scores + added
    if mask is not None:
        scores = np.where(mask[:, None, None, :] != 0, scores, -np.inf)
    context = (softmax(scores) @ v).swapaxes(1, 2)
    return context.reshape(*context.shape[:2], -1)


def rotated(x, positions, cosines, sines, *, num_heads):
    heads = split(x, num_heads)
    low, high = np.split(heads, 2, axis=-1)
    c, s = cosines[positions][:, None], sines[positions][:, None]
    turned = np.concatenate([low * c - high * s, high * c + low * s], axis=-1).swapaxes(1, 2)
    return turned.reshape(x.shape)


# The operators that graphs.py uses, by domain and kind, implemented as their specifications say.
OPERATORS = {
    "": {"Add": np.add, "Sub": np.subtract, "Mul": np.multiply, "MatMul": np.matmul, "Tanh": np.tanh,
         "Identity": lambda x: x, "Gather": lambda table, indices: table[indices],
         "Shape": lambda x: np.array(x.shape), "Slice": sliced, "Reshape": reshaped,
         "Transpose": lambda x, perm: x.transpose(perm), "Cast": lambda x, to: x.astype(to),
         "Softmax": lambda x, axis: np.moveaxis(softmax(np.moveaxis(x, axis, -1)), -1, axis),
         "LayerNormalization": lambda x, weight, bias=0, *, axis, epsilon: layer_norm(x, weight, bias, epsilon),
         "Where": np.where, "Neg": np.negative, "Concat": lambda *parts, axis: np.concatenate(parts, axis),
         "Gelu": gelu, "Unsqueeze": lambda x, axes: np.expand_dims(x, tuple(axes)),
         "Squeeze": lambda x, axes: np.squeeze(x, tuple(axes))},
    "com.microsoft": {
        "SkipLayerNormalization": lambda x, skip, weight, beta, bias, epsilon:
            layer_norm(x + skip + bias, weight, beta, epsilon),
        "BiasGelu": lambda x, bias: gelu(x + bias), "MultiHeadAttention": multi_head_attention,
        "RotaryEmbedding": rotated}}


def computed(path, **inputs):
    """Returns the output of a graph in double precision."""
    nodes, declared, outputs, constants = GRAPHS[path]
    if [name for name, _, _ in declared] != list(inputs):
        raise AssertionError(f"the graph's inputs are {declared}")
    values = dict(inputs)
    for name, value in constants:
        values[name] = value.astype(np.float64) if value.dtype == np.float32 else value
    for kind, domain, taken, given, attributes in nodes:
        # An input without a name is omitted, so the operator gets None.
        values[given[0]] = OPERATORS[domain][kind](*(values.get(name) for name in taken), **attributes)
    return values[outputs[0][0]]


@contextlib.contextmanager
def silent():
    """Redirects everything that is printed in the block to (out, err)."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        yield out, err
