"""Computes the expected outputs of the test `reference` in double precision. It shares no code with the runtime: it
follows the documented meaning of the fields of a model's description.

    python3 linformer_reference.py FOLDER

For every NAME.json in FOLDER (a model's description and a batch) and NAME.npy (its weights, one after another) it
writes NAME.npz with the expected outputs. It computes one text at a time, with whole matrices, in the order of
operations of the public implementations.
"""

import json
import math
import pathlib
import sys

import numpy as np

erf = np.vectorize(math.erf, otypes=[np.float64])


def activate(name, x):
    if name == "none":
        return x
    if name == "relu":
        return np.maximum(x, 0)
    if name == "gelu":
        return 0.5 * x * (1 + erf(x / math.sqrt(2)))
    if name == "gelu_tanh":
        return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))
    if name == "tanh":
        return np.tanh(x)
    if name == "leaky_relu":
        return np.where(x > 0, x, 0.01 * x)
    if name == "sigmoid":
        return 1 / (1 + np.exp(-x))
    if name == "silu":
        return x / (1 + np.exp(-x))
    raise ValueError(name)


def softmax(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def probabilities(head, logits):
    if head["kind"] == "single_label":
        return softmax(logits)
    activations = {"multi_label": "sigmoid", "score": head["score_activation"], "regression": "none"}
    return activate(activations[head["kind"]], logits)


class Model:
    """The tensors of a model, and the functions that need only tensors."""

    def __init__(self, description, numbers):
        self.description = description
        self.tensors = []
        for tensor in description["tensors"]:
            count = int(np.prod(tensor["shape"], dtype=np.int64))
            values = numbers[tensor["offset"] : tensor["offset"] + count]
            self.tensors.append(values.astype(np.float64).reshape(tensor["shape"]))

    def tensor(self, index):
        return self.tensors[index]

    def linear(self, part, x, bias=True):
        y = x @ self.tensors[part["weight"]].T
        return y + self.tensors[part["bias"]] if bias and part["bias"] >= 0 else y

    def optional(self, part, x):
        return self.linear(part, x) if part["weight"] >= 0 else x

    def norm(self, part, x):
        if part["scale"] < 0:
            return x
        centred = x if part["kind"] == "rms" else x - x.mean(axis=-1, keepdims=True)
        variance = (centred**2).mean(axis=-1, keepdims=True)
        scaled = centred / np.sqrt(variance + part["epsilon"]) * self.tensors[part["scale"]]
        return scaled + self.tensors[part["bias"]] if part["bias"] >= 0 else scaled


    def norm_heads(self, part, x):
        """Norms each head by itself if the scale has the width of a head, and all columns at once otherwise."""
        if part is None:
            return x
        width = len(self.tensors[part["scale"]])
        return self.norm(part, x.reshape(len(x), -1, width)).reshape(x.shape)


class Text:
    """One text after stripping: its input rows and their masks."""

    def __init__(self, encoder, given, strip):
        embedding = encoder["embedding"]
        self.tokens = np.array(given["tokens"], dtype=np.int64) if embedding["tokens"] >= 0 else None
        self.vectors = given["vectors"]
        count = len(self.tokens) if self.tokens is not None else len(self.vectors)
        keep = np.ones(count, dtype=bool)
        if given["mask"]:
            keep &= np.array(given["mask"]) != 0
        if self.tokens is not None:
            keep &= self.tokens != encoder["pad_id"]
        query = np.array(given["query_mask"] or [1] * count) != 0
        types = np.array(given["types"] or [0] * count)
        chosen = np.flatnonzero(keep) if strip else np.arange(count)
        self.keep, self.query, self.types = keep[chosen], query[chosen], types[chosen]
        if self.tokens is not None:
            self.tokens = self.tokens[chosen]
        else:
            self.vectors = self.vectors[chosen]
        self.output_rows = count  # The outputs have zeros for stripped rows.
        if embedding["prefix_token"] >= 0:
            self.tokens = np.concatenate([[embedding["prefix_token"]], self.tokens])
        if embedding["prefix_token"] >= 0 or embedding["prefix"] >= 0:
            self.keep = np.concatenate([[True], self.keep])
            self.query = np.concatenate([[True], self.query])
            self.types = np.concatenate([[0], self.types])
            self.output_rows = count + 1
        self.states = given["encoder_states"]
        self.states_keep = None
        if self.states is not None:
            mask = given["encoder_states_mask"]
            if not mask and given["mask"] and len(given["mask"]) == len(self.states):
                mask = given["mask"]
            self.states_keep = np.array(mask or [1] * len(self.states)) != 0


def rotated(x, base, scale):
    """Rotates row i by i: the channels j and j + half are a pair, rotated by i * scale * base^(-j / half)."""
    if base == 0:
        return x
    half = x.shape[1] // 2
    angles = np.arange(len(x))[:, None] * float(scale) * float(base) ** (-np.arange(half) / half)[None, :]
    cos, sin = np.cos(angles), np.sin(angles)
    first, second = x[:, :half], x[:, half:]
    return np.concatenate([first * cos - second * sin, second * cos + first * sin], axis=1)


class Encoder:
    def __init__(self, model, encoder):
        self.model = model
        self.encoder = encoder

    def positions(self, text, width, rows):
        """Returns the position of each row as a vector."""
        embedding = self.encoder["embedding"]
        if embedding["position_kind"] == "none":
            return 0.0
        if embedding["positions_count_non_pad"]:
            counted = text.tokens != self.encoder["pad_id"]
            index = embedding["position_offset"] + np.cumsum(counted) - 1
            index = np.where(counted, index, embedding["pad_position"])
        else:
            index = embedding["position_offset"] + np.arange(rows)
        if embedding["position_kind"] == "learned":
            return self.model.tensor(embedding["positions"])[index]
        if embedding["positions"] >= 0:
            frequencies = self.model.tensor(embedding["positions"])
        else:
            frequencies = embedding["position_base"] ** (-2.0 * np.arange(width // 2) / width)
        angles = index[:, None] * frequencies[None, :]
        if embedding["position_kind"] == "sinusoidal_halves":
            return np.concatenate([np.sin(angles), np.cos(angles)], axis=1)
        table = np.empty((rows, width))
        table[:, 0::2] = np.sin(angles)
        table[:, 1::2] = np.cos(angles)
        return table

    def embed(self, text):
        model, embedding = self.model, self.encoder["embedding"]
        if embedding["tokens"] >= 0:
            x = model.tensor(embedding["tokens"])[text.tokens] * embedding["scale"]
        else:
            vectors = embedding["vectors"]
            x = model.norm(vectors["norm_in"], text.vectors)
            if vectors["linear"]["weight"] >= 0:
                x = model.norm(vectors["norm_out"], model.linear(vectors["linear"], x))
            if embedding["prefix"] >= 0:
                x = np.concatenate([model.tensor(embedding["prefix"]), x])
        x = x + self.positions(text, x.shape[1], len(x))
        if embedding["token_types"] >= 0:
            x = x + model.tensor(embedding["token_types"])[text.types]
        if embedding["norm_before_factor"]:
            x = model.norm(embedding["norm"], x)
        x = model.optional(embedding["factor"], x)
        if embedding["transform_before_norm"]:
            x = model.optional(embedding["transform"], x)
        if not embedding["norm_before_factor"]:
            x = model.norm(embedding["norm"], x)
        if not embedding["transform_before_norm"]:
            x = model.optional(embedding["transform"], x)
        if embedding["zero_pad_rows"]:
            x = np.where((text.tokens == self.encoder["pad_id"])[:, None], 0.0, x)
        return x

    def compress(self, projection, y):
        """Compresses y [n, head_dim] to [k, head_dim]: E y, or the pooled or convolved windows of y."""
        model, kind, n = self.model, projection["kind"], len(y)
        if kind == "none":
            return y
        if kind == "linear":
            weight = model.tensor(projection["weight"])
            short = weight[:, :n] @ y
            if projection["length_scale"] == "inverse_root":
                short = short / math.sqrt(n)
            elif projection["length_scale"] == "restored_norm":
                used = np.maximum(np.linalg.norm(weight[:, :n], axis=1), 1e-8)
                short = short * (np.linalg.norm(weight, axis=1) / used)[:, None]
            return short + model.tensor(projection["bias"])[:, None] if projection["bias"] >= 0 else short
        kernel, stride = projection["kernel"], projection["stride"]
        if n < kernel:
            windows = [y]
        else:
            windows = [y[first : first + kernel] for first in range(0, n - kernel + 1, stride)]
        if kind == "mean_pool":
            return np.stack([window.mean(axis=0) for window in windows])
        if kind == "max_pool":
            return np.stack([window.max(axis=0) for window in windows])
        weight = model.tensor(projection["weight"])  # [kernel, out, in]
        bias = model.tensor(projection["bias"]) if projection["bias"] >= 0 else 0.0
        return np.stack([sum(weight[t] @ row for t, row in enumerate(window)) + bias for window in windows])

    def take_part(self, projection, window, n):
        """Returns for each compressed row whether it takes part beside a window in a text of n rows."""
        exact, span = len(projection["exact_tokens"]), projection["span"]
        others = projection["k"] - exact
        if span == 0:
            return np.full(projection["k"], True)
        if n - 1 <= window:  # The window of the first row contains the last row.
            return np.full(projection["k"], False)
        # Row i of the others represents positions that begin at i span / others.
        return np.array([True] * exact + [i * span < n * others for i in range(others)])

    def keys_or_values(self, attention, linear, projections, z, keep, tokens, norm=None, rotary=(0, 1)):
        """Returns the compressed keys or values of each query head. `tokens` has the ids of z's rows, or is None."""
        model, heads, dim = self.model, attention["heads"], attention["head_dim"]
        in_group = heads // attention["kv_heads"]
        whole = model.linear(linear, z)
        if norm is not None:
            whole = model.norm_heads(norm, whole)
        if attention["row_mask"] == "zeroed":
            whole = whole * keep[:, None]
        result = []
        for head in range(heads):
            projection = self.encoder["projections"][projections[head if len(projections) > 1 else 0]]
            columns = slice(head // in_group * dim, (head // in_group + 1) * dim)
            if projection["kind"] == "linear" and projection["order"] == "before_linear":
                # The projection's own bias is added to every channel of its row after the linear layer.
                plain = dict(projection, bias=-1)
                short = model.linear(linear, self.compress(plain, z))[:, columns]
                if projection["bias"] >= 0:
                    short = short + model.tensor(projection["bias"])[:, None]
            else:
                exact = rotated(whole[:, columns], *rotary)
                short = self.compress(projection, exact)
                for row, token in enumerate(projection["exact_tokens"]):
                    found = np.flatnonzero((tokens == token) & (keep > 0))
                    if len(found) > 0:
                        short[row] = exact[found[0]]
                if attention["window"] > 0 and projection["kind"] == "linear":
                    short = np.concatenate([exact, short[self.take_part(projection, attention["window"], len(z))]])
            result.append(short)
        return result

    def attend(self, attention, x, text):
        model, dim = self.model, attention["head_dim"]
        z, keep, tokens = x, text.keep, text.tokens
        if attention["key_source"] == "encoder_states" or (
            attention["key_source"] == "encoder_states_or_own" and text.states is not None
        ):
            z, keep, tokens = text.states, text.states_keep, None
        query = model.norm_heads(attention["query_norm"], model.linear(attention["query"], x)) * text.query[:, None]
        rotary = attention["rotary_base"], attention["rotary_scale"]
        keys = self.keys_or_values(attention, attention["key"], attention["key_projections"], z, keep, tokens,
                                   attention["key_norm"], rotary)
        if attention["value_is_key"]:
            values = keys
        else:
            values = self.keys_or_values(attention, attention["value"], attention["value_projections"], z, keep, tokens)
        context = []
        for head in range(attention["heads"]):
            scores = rotated(query[:, head * dim : (head + 1) * dim], *rotary) @ keys[head].T * attention["scale"]
            rows, columns = np.indices(scores.shape)
            if attention["position_bias"] >= 0:
                middle, distances = self.encoder["max_tokens"] - 1, (columns - rows)[:, : len(x)]
                scores[:, : len(x)] += model.tensor(attention["position_bias"])[head, distances + middle]
            if attention["window"] > 0:
                hidden = (np.abs(columns - rows) > attention["window"]) & (columns < len(x))
                scores = np.where(hidden, -np.inf, scores)
            if attention["causal"]:
                scores = np.where(columns > rows, -np.inf, scores)
            if attention["row_mask"] == "excluded":
                scores = np.where(keep[None, :], scores, -np.inf)
            context.append(softmax(scores) @ values[head])
        context = activate(attention["output_activation"], np.concatenate(context, axis=1))
        return model.optional(attention["output_second"], model.optional(attention["output"], context))

    def feed_forward(self, layer, x):
        hidden = self.model.linear(layer["ffn_in"], x)
        if layer["gated"]:
            first, second = np.split(hidden, 2, axis=-1)
            hidden = activate(layer["activation"], first) * second
        else:
            hidden = activate(layer["activation"], hidden)
        return self.model.linear(layer["ffn_out"], hidden)

    def step(self, norm, resample, x, function):
        """Returns x + function(x), with the model's residual, and with the norm at the model's place."""
        model, pre = self.model, self.encoder["norm_placement"] == "pre"
        y = function(model.norm(norm, x) if pre else x)
        if self.encoder["residual"] != "none":
            y = y + model.optional(resample, x)
        return y if pre else model.norm(norm, y)

    def run(self, text):
        """Returns the rows after every layer, and the output of the encoder."""
        model, encoder = self.model, self.encoder
        x = self.embed(text)
        if encoder["residual"] == "reversible":
            first, second = x, x
            hidden = [np.concatenate([first, second], axis=1)]
            for layer in encoder["layers"]:
                first = first + self.attend(layer["attention"], model.norm(layer["attention_norm"], second), text)
                second = second + self.feed_forward(layer, model.norm(layer["ffn_norm"], first))
                hidden.append(np.concatenate([first, second], axis=1))
            x = first + second
        else:
            hidden = [x]
            for layer in encoder["layers"]:
                y = self.step(
                    layer["attention_norm"],
                    layer["attention_resample"],
                    x,
                    lambda z, layer=layer: self.attend(layer["attention"], z, text),
                )
                # An outer norm is applied to the sum of the layer's input and the output of the inner norm.
                x = model.norm(layer["outer_norm"], x + y) if layer["outer_norm"] else y
                if layer["ffn_in"]["weight"] >= 0:
                    x = self.step(
                        layer["ffn_norm"],
                        layer["ffn_resample"],
                        x,
                        lambda z, layer=layer: self.feed_forward(layer, z),
                    )
                hidden.append(x)
        x = model.optional(encoder["output"], model.norm(encoder["final_norm"], x))
        if encoder["zero_masked_rows"]:
            x = x * text.keep[:, None]
        return hidden, x

    def pool(self, pooling, text, x):
        if pooling == "first_token":
            return x[0]
        if pooling == "mean_over_max_tokens":
            return x.sum(axis=0) / self.encoder["max_tokens"]
        kept = x[text.keep]
        if pooling == "last_token":
            return kept[-1]
        if pooling == "weighted_mean":
            weights = (np.arange(len(x)) + 1.0)[text.keep]
            return weights @ kept / weights.sum()
        return kept.mean(axis=0) if pooling == "mean" else kept.max(axis=0)


def with_zero_rows(x, rows):
    return np.concatenate([x, np.zeros((rows - len(x), x.shape[1]))])


def head_scores(model, encoder, head, texts, rows):
    def score(x):
        if not head["norm_after_dense"]:
            x = model.norm(head["norm"], x)
        if head["dense"]["weight"] >= 0:
            x = activate(head["activation"], model.linear(head["dense"], x))
        if head["norm_after_dense"]:
            x = model.norm(head["norm"], x)
        return model.linear(head["output"], x)

    if head["pooling"] == "none":
        return np.concatenate([with_zero_rows(score(x), text.output_rows) for text, x in zip(texts, rows)])
    pooled = np.stack([encoder.pool(head["pooling"], text, x) for text, x in zip(texts, rows)])
    if head["pairing"] == "product_difference":
        a, b = pooled[0::2], pooled[1::2]
        pooled = np.concatenate([a, b, a * b, a - b], axis=1)
    return score(pooled)


def run_case(case, numbers):
    model = Model(case["model"], numbers)
    part = case["part"]
    encoder = Encoder(model, case["model"][part])
    inputs = []
    for given in case["inputs"]:
        for name in ("vectors", "encoder_states"):
            place = given[name]
            given[name] = None
            if place:
                values = numbers[place["offset"] : place["offset"] + place["rows"] * place["width"]]
                given[name] = values.astype(np.float64).reshape(place["rows"], place["width"])
        inputs.append(Text(encoder.encoder, given, case["padding"] == "strip"))
    layers, rows = zip(*[encoder.run(text) for text in inputs])
    expected = {}

    def pack(parts):
        return np.concatenate([with_zero_rows(x, text.output_rows) for text, x in zip(inputs, parts)])

    expected["hidden.-1"] = pack(rows)
    for layer in range(len(layers[0])):
        expected[f"hidden.{layer}"] = pack([hidden[layer] for hidden in layers])
    for pooling in ("first_token", "mean", "mean_over_max_tokens", "max", "last_token", "weighted_mean"):
        expected[f"pooled.{pooling}"] = np.stack([encoder.pool(pooling, text, x) for text, x in zip(inputs, rows)])
    if case["has_heads"]:
        for index, head in enumerate(case["model"]["heads"]):
            logits = head_scores(model, encoder, head, inputs, rows)
            expected[f"logits.{index}"] = logits
            expected[f"probabilities.{index}"] = probabilities(head, logits)
        embedding = case["model"]["embedding"]
        if embedding is not None:
            pooled = np.stack([encoder.pool(embedding["pooling"], text, x) for text, x in zip(inputs, rows)])
            if embedding["dense"]["weight"] >= 0:
                pooled = activate(embedding["activation"], model.linear(embedding["dense"], pooled))
            pooled = model.norm(embedding["norm"], pooled)
            if embedding["normalize"]:
                pooled = pooled / np.maximum(np.linalg.norm(pooled, axis=1, keepdims=True), 1e-12)
            expected["embeddings"] = pooled
        mlm = case["model"]["mlm"]
        if mlm["output"]["weight"] >= 0:
            x = np.stack([rows[text][position] for text, position in case["mlm_positions"]])
            if mlm["dense"]["weight"] >= 0:
                x = model.norm(mlm["norm"], activate(mlm["activation"], model.linear(mlm["dense"], x)))
            expected["mlm"] = model.linear(mlm["output"], x)
    return expected


def main():
    for path in sorted(pathlib.Path(sys.argv[1]).glob("*.json")):
        case = json.loads(path.read_text())
        np.savez(path.with_suffix(".npz"), **run_case(case, np.load(path.with_suffix(".npy"))))


if __name__ == "__main__":
    # Some unusual models overflow even in double precision. The test leaves them out.
    np.seterr(over="ignore", invalid="ignore")
    main()
