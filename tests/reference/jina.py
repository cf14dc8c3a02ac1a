"""Makes small checkpoints and float64 outputs of both kinds of jina-embeddings-v2 in tests/data/golden/hugging-face.

    python3 jina.py FOLDER

Needs only NumPy. It computes what huggingface/text-embeddings-inference computes (backends/candle/src/models/jina.rs,
jina_code.rs, alibi.rs), with the names of tensors that it reads, and uses nothing of linformer.cpp. The models'
original code is not on an index that this project can reach, so the outputs were not compared with it.
"""

import json
import math
import pathlib
import sys

import numpy as np
from glu_rotary import Weights, gelu, softmax, write_safetensors

# The number of heads is not a power of two, as in the base model, which has 12.
WIDTH, HEADS, LAYERS, INNER, VOCABULARY, POSITIONS, PAD, EPSILON = 12, 3, 2, 10, 13, 40, 0, 1e-12


def slopes(heads):
    power = 2 ** math.floor(math.log2(heads))
    if power == heads:
        return [2 ** (-8 * (head + 1) / heads) for head in range(heads)]
    return slopes(power) + slopes(2 * power)[::2][: heads - power]


class Encoder:
    def __init__(self, seed):
        weights = self.weights = Weights(seed)
        weights.make("embeddings.word_embeddings.weight", VOCABULARY, WIDTH, width=1.0)
        weights.make("embeddings.token_type_embeddings.weight", 2, WIDTH, width=0.5)
        weights.norm("embeddings.LayerNorm", WIDTH)
        for layer in range(LAYERS):
            prefix = f"encoder.layer.{layer}."
            for part in ("query", "key", "value"):
                weights.linear(prefix + "attention.self." + part, WIDTH, WIDTH)
            weights.linear(prefix + "attention.output.dense", WIDTH, WIDTH)
            weights.norm(prefix + "attention.output.LayerNorm", WIDTH)
            self.make_rest(prefix)
        self.values = {name: tensor.astype(np.float64) for name, tensor in weights.items()}

    def make_rest(self, prefix):
        self.weights.make(prefix + "mlp.gated_layers.weight", 2 * INNER, WIDTH, width=0.5)
        self.weights.linear(prefix + "mlp.wo", WIDTH, INNER)
        self.weights.norm(prefix + "mlp.layernorm", WIDTH)

    def linear(self, name, x):
        return x @ self.values[name + ".weight"].T + self.values[name + ".bias"]

    def norm(self, name, x):
        centred = x - x.mean(axis=-1, keepdims=True)
        scaled = centred / np.sqrt((centred**2).mean(axis=-1, keepdims=True) + EPSILON)
        return scaled * self.values[name + ".weight"] + self.values[name + ".bias"]

    def heads(self, prefix, part, x):
        return self.linear(f"{prefix}attention.self.{part}", x)

    def attention(self, prefix, x, there):
        q, k, v = [self.heads(prefix, part, x).reshape(len(x), HEADS, -1).transpose(1, 0, 2)
                   for part in ("query", "key", "value")]
        distances = np.abs(np.arange(len(x))[:, None] - np.arange(len(x))[None, :])
        scores = q @ k.transpose(0, 2, 1) / math.sqrt(WIDTH // HEADS)
        scores = scores - np.array(slopes(HEADS))[:, None, None] * distances
        context = softmax(np.where(there, scores, -np.inf)) @ v
        context = context.transpose(1, 0, 2).reshape(len(x), -1)
        return self.norm(prefix + "attention.output.LayerNorm",
                         x + self.linear(prefix + "attention.output.dense", context))

    def layer(self, prefix, x, there):
        x = self.attention(prefix, x, there)
        both = x @ self.values[prefix + "mlp.gated_layers.weight"].T
        inner = gelu(both[:, :INNER]) * both[:, INNER:]
        return self.norm(prefix + "mlp.layernorm", x + self.linear(prefix + "mlp.wo", inner))

    def run(self, ids, types):
        x = self.values["embeddings.word_embeddings.weight"][ids]
        x = self.norm("embeddings.LayerNorm", x + self.values["embeddings.token_type_embeddings.weight"][types])
        for layer in range(LAYERS):
            x = self.layer(f"encoder.layer.{layer}.", x, ids != PAD)
        return x


class CodeEncoder(Encoder):
    """The encoder of jina-embeddings-v2-base-code."""

    def make_rest(self, prefix):
        for part in ("q", "k"):
            self.weights.norm(f"{prefix}attention.self.layer_norm_{part}", WIDTH)
        self.weights.norm(prefix + "layer_norm_1", WIDTH)
        self.weights.make(prefix + "mlp.up_gated_layer.weight", 2 * INNER, WIDTH, width=0.5)
        self.weights.linear(prefix + "mlp.down_layer", WIDTH, INNER)
        self.weights.norm(prefix + "layer_norm_2", WIDTH)

    def heads(self, prefix, part, x):
        made = self.linear(f"{prefix}attention.self.{part}", x)
        return made if part == "value" else self.norm(f"{prefix}attention.self.layer_norm_{part[0]}", made)

    def layer(self, prefix, x, there):
        x = self.norm(prefix + "layer_norm_1", self.attention(prefix, x, there) + x)
        both = x @ self.values[prefix + "mlp.up_gated_layer.weight"].T
        inner = both[:, :INNER] * gelu(both[:, INNER:])
        return self.norm(prefix + "layer_norm_2", x + self.linear(prefix + "mlp.down_layer", inner))


def write_case(folder, name, model, seed, what):
    folder = folder / "hugging-face" / name
    folder.mkdir(parents=True, exist_ok=True)
    write_safetensors(folder / "checkpoint.safetensors", model.weights)
    random = np.random.RandomState(seed)
    arrays = {}
    for run, count, length in (("n40", 1, POSITIONS), ("n6", 2, 6), ("pair", 2, 9)):
        ids = random.randint(1, VOCABULARY, (count, length)).astype(np.int64)
        types = np.zeros(ids.shape, np.uint8)
        if run == "pair":
            types[:, 4:] = 1
            arrays["pair.types"] = types
        arrays[f"{run}.tokens"] = ids
        arrays[f"{run}.features.f64"] = np.stack([model.run(*text) for text in zip(ids, types)])
    np.savez(folder / "io.npz", **arrays)
    config = dict(architectures=["JinaBertModel"], model_type="bert", position_embedding_type="alibi",
                  feed_forward_type="geglu", emb_pooler="mean", hidden_size=WIDTH, num_hidden_layers=LAYERS,
                  num_attention_heads=HEADS, intermediate_size=INNER, hidden_act="gelu", layer_norm_eps=EPSILON,
                  type_vocab_size=2, vocab_size=VOCABULARY, max_position_embeddings=POSITIONS, pad_token_id=PAD)
    meta = {"family": "hugging-face", "case": name, "config": config, "what": what}
    (folder / "meta.json").write_text(json.dumps(meta, indent=1) + "\n")


def main():
    folder = pathlib.Path(sys.argv[1])
    write_case(folder, "jina_encoder", Encoder(84), 84, "jina-embeddings-v2: ALiBi on both sides, a gated network")
    write_case(folder, "jina_code_encoder", CodeEncoder(85), 85,
               "jina-embeddings-v2-base-code: norms of queries and keys, and one behind a second residual")


if __name__ == "__main__":
    main()
