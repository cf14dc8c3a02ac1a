"""Makes and saves the weights of an encoder. Their names here are mapped to the names in a checkpoint by name_in().

A set of weights is a dict of float32 arrays: tokens, positions, types (for BERT), norm.*, layers.I.PART.weight and
.bias, compress [k, N] for a Linformer, and dense.* and out.* for a classifier.
"""
import collections
import json
import os

import numpy as np

from .common import UserError

# eps is that of the layer norms, first is the position of a text's first token, and pad is the id of the pad token.
Shape = collections.namedtuple("Shape", "layers d heads ffn vocabulary k longest eps first pad")

ROBERTA_BASE = dict(layers=12, d=768, heads=12, ffn=3072, vocabulary=50265, eps=1e-5, first=2, pad=1)
MINILM = dict(layers=6, d=384, heads=12, ffn=1536, vocabulary=30522, k=0, longest=512, eps=1e-12, first=0, pad=0)

BERT = {"tokens": "embeddings.word_embeddings.weight", "positions": "embeddings.position_embeddings.weight",
        "types": "embeddings.token_type_embeddings.weight", "norm": "embeddings.LayerNorm",
        "layers": "encoder.layer.", "query": "attention.self.query", "key": "attention.self.key",
        "value": "attention.self.value", "output": "attention.output.dense",
        "attention_norm": "attention.output.LayerNorm", "ffn_in": "intermediate.dense", "ffn_out": "output.dense",
        "ffn_norm": "output.LayerNorm"}
FAIRSEQ = {"tokens": "encoder.sentence_encoder.embed_tokens.weight",
           "positions": "encoder.sentence_encoder.embed_positions.weight",
           "norm": "encoder.sentence_encoder.layernorm_embedding", "layers": "encoder.sentence_encoder.layers.",
           "compress": "encoder.sentence_encoder.layers.0.self_attn.compress_k.weight", "query": "self_attn.q_proj",
           "key": "self_attn.k_proj", "value": "self_attn.v_proj", "output": "self_attn.out_proj",
           "attention_norm": "self_attn_layer_norm", "ffn_in": "fc1", "ffn_out": "fc2", "ffn_norm": "final_layer_norm",
           "dense": "classification_heads.sentence_classification_head.dense",
           "out": "classification_heads.sentence_classification_head.out_proj"}


def name_in(dialect, name):
    """Returns the checkpoint's name of a weight, or None if the dialect has no such weight."""
    if name.startswith("layers."):
        _, layer, part, kind = name.split(".")
        return f"{dialect['layers']}{layer}.{dialect[part]}.{kind}"
    part, dot, kind = name.partition(".")
    return dialect[part] + dot + kind if part in dialect else None


def names(shape, types=False, classifier=False):
    result = ["tokens", "positions"] + ["types"] * types + ["norm.weight", "norm.bias"] + ["compress"] * (shape.k > 0)
    for layer in range(shape.layers):
        for part in ("query", "key", "value", "output", "attention_norm", "ffn_in", "ffn_out", "ffn_norm"):
            result += [f"layers.{layer}.{part}.weight", f"layers.{layer}.{part}.bias"]
    return result + ["dense.weight", "dense.bias", "out.weight", "out.bias"] * classifier


def random_weights(shape, types, seed, spread=0.02):
    """Returns normally distributed weights, as BERT is initialised.

    The standard deviation of E is 1 / sqrt(N), so that the rows of E x are as large as the N rows of x.
    """
    chance = np.random.default_rng(seed)

    def normal(rows, columns, scale=spread):
        return chance.standard_normal((rows, columns), dtype=np.float32) * np.float32(scale)

    weights = {}
    for name in names(shape, types):
        part = name.split(".")[-2] if "." in name else name
        if part in ("norm", "attention_norm", "ffn_norm"):
            value = normal(1, shape.d)[0] + (1 if name.endswith(".weight") else 0)
        elif name.endswith(".bias"):
            value = normal(1, shape.ffn if part == "ffn_in" else shape.d)[0]
        elif name == "tokens":
            value = normal(shape.vocabulary, shape.d)
        elif name == "positions":
            value = normal(shape.longest + shape.first, shape.d)
        elif name == "types":
            value = normal(types, shape.d)
        elif name == "compress":
            value = normal(shape.k, shape.longest, shape.longest ** -0.5)
        elif part == "ffn_in":
            value = normal(shape.ffn, shape.d)
        else:
            value = normal(shape.d, shape.ffn if part == "ffn_out" else shape.d)
        weights[name] = value.astype(np.float32)
    return weights


def save(path, weights, dialect=None):
    from safetensors.numpy import save_file
    named = {name_in(dialect, name) if dialect else name: np.ascontiguousarray(value)
             for name, value in weights.items()}
    save_file(named, path, metadata={"format": "pt"})


def load(path):
    from safetensors.numpy import load_file
    return load_file(path)


def save_checkpoint(folder, weights, shape):
    """Writes a checkpoint that linformer-convert reads. Returns the path to convert and the settings, or None."""
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, "model.safetensors")
    if shape.k:
        # All layers share one E for keys and values. fairseq stores a copy of it in each layer.
        named = {name_in(FAIRSEQ, name): value for name, value in weights.items() if name != "compress"}
        for layer in range(shape.layers):
            named[f"{FAIRSEQ['layers']}{layer}.self_attn.compress_k.weight"] = weights["compress"]
        save(path, named)
        return path, {"encoder_attention_heads": shape.heads, "activation_fn": "gelu", "shared_kv_compressed": 1}
    save(path, weights, BERT)
    with open(os.path.join(folder, "config.json"), "w", encoding="utf-8") as file:
        json.dump(bert_config(shape, "roberta" if shape.first else "bert"), file)
    return folder, None


def bert_config(shape, kind):
    return {"architectures": ["RobertaModel" if kind == "roberta" else "BertModel"], "model_type": kind,
            "hidden_size": shape.d, "intermediate_size": shape.ffn, "num_hidden_layers": shape.layers,
            "num_attention_heads": shape.heads, "vocab_size": shape.vocabulary,
            "max_position_embeddings": shape.longest + shape.first, "type_vocab_size": 1 if kind == "roberta" else 2,
            "hidden_act": "gelu", "layer_norm_eps": shape.eps, "pad_token_id": shape.pad,
            "position_embedding_type": "absolute", "initializer_range": 0.02}


def read_bert(folder):
    """Returns the shape and the weights of a BERT in a folder of Hugging Face."""
    from safetensors import SafetensorError
    try:
        with open(os.path.join(folder, "config.json"), encoding="utf-8") as file:
            config = json.load(file)
        state = load(os.path.join(folder, "model.safetensors"))
    except (OSError, ValueError, SafetensorError) as error:
        reason = getattr(error, "strerror", None) or error
        raise UserError(f"{folder} has no BERT in config.json and model.safetensors: {reason}") from error
    if config.get("model_type") != "bert" or config.get("hidden_act") != "gelu":
        raise UserError(f"{folder}: only a BERT with gelu can be compared (config.json says otherwise)")
    try:
        shape = Shape(config["num_hidden_layers"], config["hidden_size"], config["num_attention_heads"],
                      config["intermediate_size"], config["vocab_size"], 0, config["max_position_embeddings"],
                      config["layer_norm_eps"], 0, config.get("pad_token_id", 0))
    except KeyError as error:
        raise UserError(f"{folder}: config.json has no {error.args[0]}") from error
    prefix = "bert." if any(name.startswith("bert.") for name in state) else ""
    try:
        weights = {name: state[prefix + name_in(BERT, name)].astype(np.float32) for name in names(shape, True)}
    except KeyError as error:
        raise UserError(f"{folder}: the weight {error.args[0]} is missing in model.safetensors") from error
    return shape, weights


def from_fairseq(state, shape):
    return {name: np.asarray(state[name_in(FAIRSEQ, name)], dtype=np.float32)
            for name in names(shape, classifier=True)}
