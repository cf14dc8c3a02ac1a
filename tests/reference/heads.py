"""Makes small checkpoints and float64 outputs in tests/data/golden/hugging-face: BERT, RoBERTa and DistilBERT with
heads of one output, for regression and for several labels.

    python3 heads.py FOLDER

Needs only NumPy. It computes what transformers' BertForSequenceClassification, RobertaForSequenceClassification and
DistilBertForSequenceClassification compute, with their names of tensors and settings, and applies the activations of
transformers' text classification pipeline and sentence-transformers' CrossEncoder. It uses nothing of linformer.cpp.
hugging_face.py compares with the packages themselves if they are installed.
"""

import json
import math
import pathlib
import sys

import numpy as np
from glu_rotary import Weights, gelu, relu, softmax, write_safetensors

WIDTH, HEADS, LAYERS, INNER, VOCABULARY, POSITIONS = 8, 2, 2, 12, 13, 14


class Encoder:
    """The encoder and classifier of a family. The families differ in the names of tensors."""

    def __init__(self, family, seed, outputs):
        self.family = family
        self.pad, self.epsilon = (1, 1e-5) if family == "roberta" else (0, 1e-12)
        weights = self.weights = Weights(seed)
        embeddings = family + ".embeddings."
        weights.make(embeddings + "word_embeddings.weight", VOCABULARY, WIDTH, width=1.0)
        weights.make(embeddings + "position_embeddings.weight", POSITIONS, WIDTH, width=0.5)
        if family != "distilbert":
            weights.make(embeddings + "token_type_embeddings.weight", 2 if family == "bert" else 1, WIDTH, width=0.5)
        weights.norm(embeddings + "LayerNorm", WIDTH)
        for layer in range(LAYERS):
            for part in self.parts(layer):
                if "norm" in part or "Norm" in part:
                    weights.norm(part, WIDTH)
                else:
                    grows, shrinks = part.endswith(("intermediate.dense", "lin1")), part.endswith("lin2")
                    shrinks = shrinks or (part.endswith("output.dense") and "attention" not in part)
                    weights.linear(part, INNER if grows else WIDTH, INNER if shrinks else WIDTH)
        self.dense, self.output = {
            "bert": ("bert.pooler.dense", "classifier"),
            "roberta": ("classifier.dense", "classifier.out_proj"),
            "distilbert": ("pre_classifier", "classifier"),
        }[family]
        weights.linear(self.dense, WIDTH, WIDTH)
        weights.linear(self.output, outputs, WIDTH)
        self.values = {name: tensor.astype(np.float64) for name, tensor in weights.items()}

    def parts(self, layer):
        """Returns the names of query, key, value, output, its norm, the network's two linears and its norm."""
        if self.family == "distilbert":
            names = ["attention.q_lin", "attention.k_lin", "attention.v_lin", "attention.out_lin", "sa_layer_norm",
                     "ffn.lin1", "ffn.lin2", "output_layer_norm"]
            return [f"distilbert.transformer.layer.{layer}.{name}" for name in names]
        names = ["attention.self.query", "attention.self.key", "attention.self.value", "attention.output.dense",
                 "attention.output.LayerNorm", "intermediate.dense", "output.dense", "output.LayerNorm"]
        return [f"{self.family}.encoder.layer.{layer}.{name}" for name in names]

    def linear(self, name, x):
        return x @ self.values[name + ".weight"].T + self.values[name + ".bias"]

    def norm(self, name, x):
        centred = x - x.mean(axis=-1, keepdims=True)
        scaled = centred / np.sqrt((centred**2).mean(axis=-1, keepdims=True) + self.epsilon)
        return scaled * self.values[name + ".weight"] + self.values[name + ".bias"]

    def embed(self, ids, types):
        embeddings = self.family + ".embeddings."
        positions = np.arange(len(ids))
        if self.family == "roberta":  # The position of padding is the pad id. Other tokens count from pad + 1.
            there = ids != self.pad
            positions = np.cumsum(there) * there + self.pad
        x = self.values[embeddings + "word_embeddings.weight"][ids]
        x = x + self.values[embeddings + "position_embeddings.weight"][positions]
        if self.family != "distilbert":
            x = x + self.values[embeddings + "token_type_embeddings.weight"][types]
        return self.norm(embeddings + "LayerNorm", x)

    def layer(self, index, x, there):
        query, key, value, output, attention_norm, grow, shrink, network_norm = self.parts(index)
        q, k, v = [self.linear(name, x).reshape(len(x), HEADS, -1).transpose(1, 0, 2) for name in (query, key, value)]
        scores = q @ k.transpose(0, 2, 1) / math.sqrt(WIDTH // HEADS)
        scores = np.where(there, scores, -np.inf)
        context = (softmax(scores) @ v).transpose(1, 0, 2).reshape(len(x), -1)
        x = self.norm(attention_norm, x + self.linear(output, context))
        return self.norm(network_norm, x + self.linear(shrink, gelu(self.linear(grow, x))))

    def run(self, ids, types):
        x = self.embed(ids, types)
        for index in range(LAYERS):
            x = self.layer(index, x, ids != self.pad)
        activation = relu if self.family == "distilbert" else np.tanh
        return x, self.linear(self.output, activation(self.linear(self.dense, x[0])))

    def config(self, more):
        if self.family == "distilbert":
            sizes = dict(dim=WIDTH, n_layers=LAYERS, n_heads=HEADS, hidden_dim=INNER, activation="gelu")
        else:
            sizes = dict(hidden_size=WIDTH, num_hidden_layers=LAYERS, num_attention_heads=HEADS,
                         intermediate_size=INNER, hidden_act="gelu", layer_norm_eps=self.epsilon,
                         type_vocab_size=2 if self.family == "bert" else 1)
        name = {"bert": "Bert", "roberta": "Roberta", "distilbert": "DistilBert"}[self.family]
        return dict(architectures=[name + "ForSequenceClassification"], model_type=self.family, **sizes,
                    vocab_size=VOCABULARY, max_position_embeddings=POSITIONS, pad_token_id=self.pad, **more)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def texts(model, seed):
    """Returns ids and token types by run: of the largest length, shorter, a pair, and with padding after the text."""
    random = np.random.RandomState(seed)
    longest = POSITIONS - 2 if model.family == "roberta" else POSITIONS
    ids = {f"n{n}": random.randint(2, VOCABULARY, (count, n)) for n, count in ((longest, 1), (6, 2))}
    if model.family == "bert":
        ids["pair"] = random.randint(2, VOCABULARY, (2, 9))
    ids["padded"] = random.randint(2, VOCABULARY, (2, 10))
    ids["padded"][0, 7:] = ids["padded"][1, 4:] = model.pad
    types = {run: np.zeros_like(rows) for run, rows in ids.items()}
    if "pair" in types:
        types["pair"][:, 4:] = 1
    return {run: (ids[run].astype(np.int64), types[run].astype(np.uint8)) for run in ids}


def write_case(root, name, seed, family, outputs, more, function, what):
    model = Encoder(family, seed, outputs)
    folder = root / "hugging-face" / name
    folder.mkdir(parents=True, exist_ok=True)
    write_safetensors(folder / "checkpoint.safetensors", model.weights)
    arrays = {}
    for run, (ids, types) in texts(model, seed).items():
        rows, logits = zip(*[model.run(*text) for text in zip(ids, types)])
        arrays[f"{run}.tokens"] = ids
        if types.any():
            arrays[f"{run}.types"] = types
        if run != "padded":
            arrays[f"{run}.features.f64"] = np.stack(rows)
        arrays[f"{run}.logits.f64"] = np.stack(logits)
        arrays[f"{run}.probabilities.f64"] = function(np.stack(logits))
    np.savez(folder / "io.npz", **arrays)
    meta = {"family": "hugging-face", "case": name, "config": model.config(more), "what": what}
    (folder / "meta.json").write_text(json.dumps(meta, indent=1) + "\n")


def same(x):
    return x


def main():
    root = pathlib.Path(sys.argv[1])
    identity = "torch.nn.modules.linear.Identity"
    for seed, family in enumerate(("bert", "roberta", "distilbert"), 20):
        write_case(root, family + "_score", seed, family, 1, {}, sigmoid,
                   "one output, of which nothing is said: the pipeline and CrossEncoder take its sigmoid")
        write_case(root, family + "_regression", seed + 10, family, 2, {"problem_type": "regression"}, same,
                   "the pipeline gives regression's outputs as they are")
        write_case(root, family + "_multi_label", seed + 20, family, 3,
                   {"problem_type": "multi_label_classification"}, sigmoid, "the sigmoid of each output")
        write_case(root, family + "_reranker", seed + 30, family, 1, {"sentence_transformers": {
            "activation_fn": identity, "version": "4.1.0"}}, same, "a CrossEncoder whose score is the output as it is")
    write_case(root, "bert_old_reranker", 60, "bert", 1, {"sbert_ce_default_activation_function": identity}, same,
               "the same before version 4 of sentence-transformers")
    write_case(root, "bert_labels", 61, "bert", 3, {"sentence_transformers": {"activation_fn": identity}}, softmax,
               "three labels: CrossEncoder's default, which is no word about them, and the pipeline's softmax")


if __name__ == "__main__":
    main()
