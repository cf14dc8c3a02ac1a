"""Makes small checkpoints and float64 outputs in tests/data/golden: gated feed-forward networks of lucidrains'
`linformer`, and rotary positions of xformers.

    python3 glu_rotary.py FOLDER

Needs only NumPy. It computes what lucidrains/linformer 0.2.3 and xformers 0.0.28 (MultiHeadDispatch, RotaryEmbedding,
LinformerAttention) compute, with their names of tensors, and uses nothing of linformer.cpp. The checkpoints are the
same each time, and the outputs are the same up to NumPy's rounding of sums. A case has CASE/checkpoint.safetensors
(float32), CASE/io.npz (inputs, and outputs computed in float64 from the file's values) and CASE/meta.json (the
arguments of the class).
"""

import json
import math
import pathlib
import sys

import numpy as np

erf = np.vectorize(math.erf, otypes=[np.float64])


def gelu(x):
    return 0.5 * x * (1 + erf(x / math.sqrt(2)))


def relu(x):
    return np.maximum(x, 0)


def softmax(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


class Weights(dict):
    """A state dict of random tensors."""

    def __init__(self, seed):
        super().__init__()
        self.random = np.random.RandomState(seed)  # Its numbers are the same in all versions of NumPy.

    def make(self, name, *shape, around=0.0, width=None):
        width = width if width is not None else 1.2 / math.sqrt(shape[-1])
        self[name] = (around + width * self.random.standard_normal(shape)).astype(np.float32)

    def linear(self, name, out, inputs, bias=True):
        self.make(name + ".weight", out, inputs)
        if bias:
            self.make(name + ".bias", out, width=0.3)

    def norm(self, name, width):
        self.make(name + ".weight", width, around=1.0, width=0.2)
        self.make(name + ".bias", width, width=0.2)


class Values:
    """The tensors in float64, and the functions of the layers."""

    def __init__(self, weights):
        self.tensors = {name: tensor.astype(np.float64) for name, tensor in weights.items()}

    def __getitem__(self, name):
        return self.tensors[name]

    def linear(self, name, x):
        y = x @ self.tensors[name + ".weight"].T
        return y + self.tensors[name + ".bias"] if name + ".bias" in self.tensors else y

    def norm(self, name, x):
        centred = x - x.mean(axis=-1, keepdims=True)
        scaled = centred / np.sqrt((centred**2).mean(axis=-1, keepdims=True) + 1e-5)
        return scaled * self.tensors[name + ".weight"] + self.tensors[name + ".bias"]


class Linformer:
    """lucidrains' Linformer, or its LinformerLM if `num_tokens` is given. `gated` says for each layer if it has glu."""

    def __init__(self, seed, dim, seq_len, depth, k, heads, gated, num_tokens=None, dim_head=None, one_kv_head=False,
                 share_kv=False, reversible=False, activation="gelu", mult=4):
        self.heads, self.gated, self.share_kv, self.reversible = heads, gated, share_kv, reversible
        self.activation = {"gelu": gelu, "relu": relu}[activation]
        self.dim_head = dim_head or dim // heads
        self.depth = depth
        self.language_model = num_tokens is not None
        weights = Weights(seed)
        if self.language_model:
            weights.make("token_emb.weight", num_tokens, dim, width=1.0)
            weights.make("pos_emb.weight", seq_len, dim, width=0.5)
        for i in range(depth):
            attention, network = self.names(i)
            weights.norm(attention + "norm", dim)
            inner = self.dim_head * heads
            keys = self.dim_head if one_kv_head else inner
            weights.linear(attention + "fn.to_q", inner, dim, bias=False)
            for part in ("k",) if share_kv else ("k", "v"):
                weights.linear(attention + "fn.to_" + part, keys, dim, bias=False)
                weights.make(attention + "fn.proj_" + part, seq_len, k, width=1.0 / math.sqrt(k))
            weights.linear(attention + "fn.to_out", dim, inner)
            weights.norm(network + "norm", dim)
            weights.linear(network + "fn.w1", dim * mult * (2 if gated[i] else 1), dim)
            weights.linear(network + "fn.w2", dim, dim * mult)
        if self.language_model:
            weights.linear("to_logits", num_tokens, dim)
        self.weights, self.values = weights, Values(weights)

    def names(self, i):
        net = "linformer.net." if self.language_model else "net."
        if self.reversible:
            return f"{net}blocks.{i}.f.net.", f"{net}blocks.{i}.g.net."
        return f"{net}layers.{i}.0.", f"{net}layers.{i}.1."

    def attend(self, names, x):
        """Returns the attention [n, dim] of `x` [n, dim], which is the output of the norm."""
        values, n = self.values, len(x)

        def short(part):
            projected = values[names + "proj_" + part][:n].T @ values.linear(names + "to_" + part, x)
            parts = projected.reshape(len(projected), -1, self.dim_head).transpose(1, 0, 2)
            return np.broadcast_to(parts, (self.heads, *parts.shape[1:]))

        keys = short("k")
        compressed = keys if self.share_kv else short("v")
        query = values.linear(names + "to_q", x).reshape(n, self.heads, self.dim_head).transpose(1, 0, 2)
        scores = softmax(query @ keys.transpose(0, 2, 1) * self.dim_head**-0.5)
        return values.linear(names + "to_out", (scores @ compressed).transpose(1, 0, 2).reshape(n, -1))

    def feed_forward(self, names, x, gated):
        hidden = self.values.linear(names + "w1", x)
        if gated:
            hidden, v = np.split(hidden, 2, axis=-1)
            hidden = self.activation(hidden) * v
        else:
            hidden = self.activation(hidden)
        return self.values.linear(names + "w2", hidden)

    def run_text(self, given):
        """Returns the rows after each layer, the output of the last layer, and logits."""
        values = self.values
        x = given.astype(np.float64)
        if self.language_model:
            x = values["token_emb.weight"][given] + values["pos_emb.weight"][: len(given)]
        first, second, hidden = x, x, []
        for i in range(self.depth):
            attention, network = self.names(i)
            first = first + self.attend(attention + "fn.", values.norm(attention + "norm", second))
            if not self.reversible:
                second = first
            second = second + self.feed_forward(network + "fn.", values.norm(network + "norm", first), self.gated[i])
            if not self.reversible:
                first = second
                hidden.append(second)
        out = first + second if self.reversible else second
        return hidden, out, values.linear("to_logits", out) if self.language_model else None

    def run(self, texts):
        hidden, out, logits = zip(*[self.run_text(text) for text in texts])
        made = {"features.f64": np.stack(out)}
        if self.depth > 1 and not self.reversible:
            made["hidden.1.f64"] = np.stack([rows[0] for rows in hidden])
        if self.language_model:
            made["logits.f64"] = np.stack(logits)
        return made


class MultiHeadDispatch:
    """xformers' MultiHeadDispatch(use_rotary_embeddings=True) around LinformerAttention."""

    def __init__(self, seed, dim_model, num_heads, seq_len, k, bias=True, packed=False, base=10000.0):
        self.heads, self.dim_head, self.packed = num_heads, dim_model // num_heads, packed
        weights = Weights(seed)
        container = "in_proj_container."
        if packed:
            weights.make(container + "in_proj_weight", 3 * dim_model, dim_model)
        else:
            for part in ("q", "k", "v"):
                weights.linear(f"{container}{part}_proj", dim_model, dim_model, bias)
        # torch computes this in float32.
        powers = np.arange(0, self.dim_head, 2).astype(np.float32) / np.float32(self.dim_head)
        weights["rotary_embeddings.inv_freq"] = np.float32(1) / np.float32(base) ** powers
        weights.linear("attention.E", k, seq_len, bias=False)
        weights.linear("attention.F", k, seq_len, bias=False)
        weights.linear("proj", dim_model, dim_model, bias)
        self.weights, self.values = weights, Values(weights)

    def rotated(self, x):
        """Rotates row i of each head by i: x cos + rotate_half(x) sin."""
        angles = np.arange(x.shape[1])[:, None] * self.values["rotary_embeddings.inv_freq"][None, :]
        angles = np.concatenate([angles, angles], axis=-1)
        first, second = np.split(x, 2, axis=-1)
        return x * np.cos(angles) + np.concatenate([-second, first], axis=-1) * np.sin(angles)

    def run_text(self, x):
        values, n = self.values, len(x)
        x = x.astype(np.float64)
        if self.packed:
            parts = np.split(x @ values["in_proj_container.in_proj_weight"].T, 3, axis=-1)
        else:
            parts = [values.linear(f"in_proj_container.{part}_proj", x) for part in ("q", "k", "v")]
        q, k, v = [part.reshape(n, self.heads, self.dim_head).transpose(1, 0, 2) for part in parts]
        q, k = self.rotated(q), self.rotated(k)
        k, v = values["attention.E.weight"][:, :n] @ k, values["attention.F.weight"][:, :n] @ v
        y = softmax(q @ k.transpose(0, 2, 1) / math.sqrt(self.dim_head)) @ v
        return values.linear("proj", y.transpose(1, 0, 2).reshape(n, -1))

    def run(self, texts):
        return {"out.f64": np.stack([self.run_text(text) for text in texts])}


def write_safetensors(path, tensors):
    header, begin = {"__metadata__": {"format": "pt"}}, 0
    for name, tensor in tensors.items():
        header[name] = {"dtype": "F32", "shape": list(tensor.shape), "data_offsets": [begin, begin + tensor.nbytes]}
        begin += tensor.nbytes
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    data = b"".join(np.ascontiguousarray(tensor).astype("<f4").tobytes() for tensor in tensors.values())
    path.write_bytes(len(text).to_bytes(8, "little") + text + data)


def write_case(folder, model, config, runs, what):
    folder.mkdir(parents=True, exist_ok=True)
    write_safetensors(folder / "checkpoint.safetensors", model.weights)
    arrays = {}
    for run, (name, texts) in runs.items():
        arrays[f"{run}.{name}"] = texts
        arrays.update({f"{run}.{output}": values for output, values in model.run(texts).items()})
    np.savez(folder / "io.npz", **arrays)
    meta = {"family": folder.parent.name, "case": folder.name, "config": config, "what": what}
    (folder / "meta.json").write_text(json.dumps(meta, indent=1) + "\n")


def tokens(seed, vocabulary, *lengths):
    random = np.random.RandomState(seed)
    return {f"n{n}": ("tokens", random.randint(0, vocabulary, (texts, n)).astype(np.int64)) for n, texts in lengths}


def vectors(seed, width, *lengths):
    random = np.random.RandomState(seed)
    return {f"n{n}": ("x", random.standard_normal((texts, n, width)).astype(np.float32)) for n, texts in lengths}


def main():
    root = pathlib.Path(sys.argv[1])

    def language_model(name, seed, what, gated, **arguments):
        config = dict(dim=8, seq_len=14, depth=len(gated), k=5, num_tokens=9, **arguments)
        model = Linformer(seed, gated=gated, **config)
        if len(set(gated)) == 1:
            config["glu"] = gated[0]
        write_case(root / "lucidrains" / name, model, config, tokens(seed, 9, (14, 1), (9, 2)), what)

    language_model("glu_lm", 1, "glu in every layer", [True, True], heads=2)
    language_model("glu_one_kv_head", 2, "glu, one key head, dim_head other than dim / heads", [True], heads=2,
                   dim_head=6, one_kv_head=True)
    language_model("glu_reversible", 3, "glu in reversible layers", [True, True], heads=2, reversible=True)
    language_model("glu_mixed", 4, "layer 0 as it was, layer 1 with glu; relu", [False, True], heads=4,
                   activation="relu")
    config = dict(dim=8, seq_len=14, depth=1, k=5, heads=2, share_kv=True)
    write_case(root / "lucidrains" / "glu_share_kv", Linformer(5, gated=[True], **config), dict(config, glu=True),
               vectors(5, 8, (14, 1), (3, 2)), "a bare Linformer with glu; values are the keys; also fewer rows than k")

    config = dict(dim_model=16, num_heads=2, seq_len=20, k=6)
    write_case(root / "xformers" / "rotary", MultiHeadDispatch(6, **config), dict(config, use_rotary_embeddings=True),
               vectors(6, 16, (20, 1), (13, 2)), "rotary positions, 2 heads of 8")
    config = dict(dim_model=12, num_heads=2, seq_len=20, k=6)
    model = MultiHeadDispatch(7, bias=False, packed=True, base=500.0, **config)
    write_case(root / "xformers" / "rotary_packed", model, config, vectors(7, 12, (20, 1), (4, 2)),
               "3 pairs of channels in a head, base 500, one input projection")


if __name__ == "__main__":
    main()
