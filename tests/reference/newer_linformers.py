"""Makes small checkpoints and float64 outputs of Linformers that are newer than the paper in tests/data/golden: Jargon,
CALD, transformers' pull request 10587, masked-linformer, and user-written classifiers around the packages linformer and
linformer-pytorch.

    python3 newer_linformers.py FOLDER

Needs torch. It computes what the published code computes, with its names of tensors and settings (Jargon:
PantagrueLLM/Jargon, src/jargon; CALD: idiap/linearize-distill-pretrained-transformers, nlp/linformer_utils.py; the pull
request: src/transformers/models/linformer at 1407558b; masked-linformer: compressed-maskformer-reco/masked-linformer),
and uses nothing of linformer.cpp. No trained weights of these models are on an index that this project can reach, so
none was converted.
"""

import json
import math
import pathlib
import sys

import numpy as np
import torch
import torch.nn.functional as F
from glu_rotary import write_safetensors

torch.set_default_dtype(torch.float64)
VOCABULARY, WIDTH, HEADS, LAYERS, INNER, K, PAD = 13, 12, 3, 2, 10, 4, 1
POSITIONS = 14  # The length of the longest text.


class Weights(dict):
    """Random tensors by name, rounded to float32, which the file holds."""

    def __init__(self, seed):
        super().__init__()
        self.random = torch.Generator().manual_seed(seed)

    def make(self, name, *shape, width=0.35, mean=0.0):
        values = mean + width * torch.randn(shape, generator=self.random)
        self[name] = values.float().double()

    def linear(self, name, outputs, inputs, bias=True):
        self.make(name + ".weight", outputs, inputs)
        if bias:
            self.make(name + ".bias", outputs, width=0.3)

    def norm(self, name, width=WIDTH):
        self.make(name + ".weight", width, width=0.2, mean=1.0)
        self.make(name + ".bias", width, width=0.2)

    def apply(self, name, x):
        return F.linear(x, self[name + ".weight"], self.get(name + ".bias"))

    def normed(self, name, x, epsilon):
        return F.layer_norm(x, x.shape[-1:], self[name + ".weight"], self[name + ".bias"], epsilon)


def split_heads(x, heads):
    return x.reshape(x.shape[0], heads, -1).transpose(0, 1)


def attend(q, keys, values, scale):
    """Attention of q [heads, n, dim] to [heads or 1, k, dim], with the heads concatenated."""
    context = torch.softmax(q @ keys.transpose(-1, -2) * scale, dim=-1) @ values
    return context.transpose(0, 1).reshape(q.shape[1], -1)


def write_case(root, family, case, weights, config, run, what, aliases=None, lengths=(POSITIONS, 6), tokens=None):
    """`run` turns a text's ids into outputs by name. `aliases` maps second names of tensors to their first names."""
    folder = root / family / case
    folder.mkdir(parents=True, exist_ok=True)
    if aliases is None:
        write_safetensors(folder / "checkpoint.safetensors",
                          {name: tensor.float().numpy() for name, tensor in weights.items()})
    else:
        state = {name: tensor.float() for name, tensor in weights.items()}
        state.update({alias: state[name] for alias, name in aliases.items()})
        torch.save(state, folder / "checkpoint.pt")
    random = np.random.RandomState(len(weights))
    arrays = {}
    for n in lengths:
        ids = random.choice(tokens or [token for token in range(VOCABULARY) if token != PAD], (2, n))
        arrays[f"n{n}.tokens"] = ids.astype(np.int64)
        outputs = [run(torch.tensor(text)) for text in ids]
        for name in outputs[0]:
            arrays[f"n{n}.{name}.f64"] = torch.stack([output[name] for output in outputs]).numpy()
    np.savez(folder / "io.npz", **arrays)
    meta = {"family": family, "case": case, "config": config, "what": what}
    (folder / "meta.json").write_text(json.dumps(meta, indent=1) + "\n")


# These functions are the parts of RoBERTa and BERT. The models below have their own attention.


def make_embedding(weights, prefix, positions):
    weights.make(prefix + "embeddings.word_embeddings.weight", VOCABULARY, WIDTH, width=1.0)
    weights.make(prefix + "embeddings.position_embeddings.weight", positions, WIDTH)
    weights.make(prefix + "embeddings.token_type_embeddings.weight", 1, WIDTH)
    weights.norm(prefix + "embeddings.LayerNorm")


def embed(weights, prefix, ids, first_position):
    positions = first_position + torch.arange(len(ids))
    return (weights[prefix + "embeddings.word_embeddings.weight"][ids]
            + weights[prefix + "embeddings.position_embeddings.weight"][positions]
            + weights[prefix + "embeddings.token_type_embeddings.weight"][0])


def make_bert_layer(weights, prefix):
    for part in ("query", "key", "value"):
        weights.linear(prefix + "attention.self." + part, WIDTH, WIDTH)
    weights.linear(prefix + "attention.output.dense", WIDTH, WIDTH)
    weights.norm(prefix + "attention.output.LayerNorm")
    weights.linear(prefix + "intermediate.dense", INNER, WIDTH)
    weights.linear(prefix + "output.dense", WIDTH, INNER)
    weights.norm(prefix + "output.LayerNorm")


def bert_layer(weights, prefix, x, context, epsilon):
    x = weights.normed(prefix + "attention.output.LayerNorm",
                       x + weights.apply(prefix + "attention.output.dense", context), epsilon)
    inner = F.gelu(weights.apply(prefix + "intermediate.dense", x))
    return weights.normed(prefix + "output.LayerNorm", x + weights.apply(prefix + "output.dense", inner), epsilon)


def make_roberta_head(weights, labels):
    if labels:
        weights.linear("classifier.dense", WIDTH, WIDTH)
        weights.linear("classifier.out_proj", labels, WIDTH)
        return
    weights.linear("lm_head.dense", WIDTH, WIDTH)
    weights.norm("lm_head.layer_norm")
    weights.make("lm_head.bias", VOCABULARY)


def roberta_head(weights, x, epsilon):
    if "classifier.dense.weight" in weights:
        return weights.apply("classifier.out_proj", torch.tanh(weights.apply("classifier.dense", x[0])))
    x = weights.normed("lm_head.layer_norm", F.gelu(weights.apply("lm_head.dense", x)), epsilon)
    return F.linear(x, weights["roberta.embeddings.word_embeddings.weight"], weights["lm_head.bias"])


ROBERTA = dict(hidden_size=WIDTH, num_hidden_layers=LAYERS, num_attention_heads=HEADS, intermediate_size=INNER,
               vocab_size=VOCABULARY, pad_token_id=PAD, type_vocab_size=1, max_position_embeddings=POSITIONS + PAD + 1)


def cald(root, case, share_mode, seed, labels):
    """RoBERTa with proj_k and proj_v [positions, k]. `share_mode` is what shares them: "none", "kv" or "layer"."""
    epsilon, weights, aliases = 1e-5, Weights(seed), {}
    make_embedding(weights, "roberta.", POSITIONS + PAD + 1)
    for layer in range(LAYERS):
        prefix = f"roberta.encoder.layer.{layer}."
        make_bert_layer(weights, prefix)
        names = [prefix + "attention.self.proj_k", prefix + "attention.self.proj_v"]
        for name in names:
            first = {"none": name, "kv": names[0], "layer": "roberta.encoder.layer.0.attention.self.proj_k"}[share_mode]
            if first == name:
                weights.make(name, POSITIONS + PAD + 1, K, width=1.0)
            else:
                aliases[name] = first
    make_roberta_head(weights, labels)

    def forward(ids, mask):
        """Runs a text with its padding. Only unmasked rows are compressed, over their own length."""
        n = int(mask.sum())
        x = weights.normed("roberta.embeddings.LayerNorm", embed(weights, "roberta.", ids, PAD + 1), epsilon)
        for layer in range(LAYERS):
            prefix = f"roberta.encoder.layer.{layer}."
            q, k, v = [weights.apply(prefix + "attention.self." + part, x) for part in ("query", "key", "value")]
            compressed = []
            for letter, rows in (("k", k), ("v", v)):
                name = prefix + "attention.self.proj_" + letter
                projection = weights[aliases.get(name, name)]
                compressed.append(split_heads(projection[:n].T @ rows[:n] / math.sqrt(n), HEADS))
            context = attend(split_heads(q, HEADS), *compressed, (WIDTH // HEADS) ** -0.5)
            x = bert_layer(weights, prefix, x, context, epsilon)
        return x

    def run(ids):
        x = forward(ids, torch.ones(len(ids)))
        padded = torch.cat([ids, torch.full((POSITIONS - len(ids),), PAD)])
        again = forward(padded, torch.arange(POSITIONS) < len(ids))
        assert torch.allclose(again[: len(ids)], x, rtol=0, atol=1e-12)  # Padding must change nothing.
        return {"features": x, "logits": roberta_head(weights, x, epsilon)}

    architecture = "RobertaForSequenceClassification" if labels else "RobertaForMaskedLM"
    config = dict(ROBERTA, model_type="roberta", architectures=[architecture], hidden_act="gelu",
                  layer_norm_eps=epsilon)
    write_case(root, "cald", case, weights, config, run, f"CALD, proj_share_mode {share_mode}",
               aliases if share_mode == "layer" else None)


def jargon(root, case, shared_layer, normalize_before, seed, labels):
    """Jargon's names and settings. With encoder_normalize_before a norm follows the last layer."""
    epsilon, weights, aliases = 1e-5, Weights(seed), {}
    k = POSITIONS // 4
    make_embedding(weights, "roberta.", POSITIONS + PAD + 1)
    if shared_layer:
        weights.linear("roberta.encoder.compress_layer", k, POSITIONS)
    for layer in range(LAYERS):
        prefix = f"roberta.encoder.layer.{layer}."
        for part in ("k_proj", "v_proj", "q_proj", "out_proj"):
            weights.linear(prefix + "attention." + part, WIDTH, WIDTH)
        for name in ("compress_k", "compress_v"):
            if shared_layer:
                for part in ("weight", "bias"):
                    aliases[f"{prefix}attention.{name}.{part}"] = "roberta.encoder.compress_layer." + part
            else:
                weights.linear(prefix + "attention." + name, k, POSITIONS, bias=False)
        weights.linear(prefix + "intermediate.dense", INNER, WIDTH)
        weights.linear(prefix + "output.dense", WIDTH, INNER)
        for name in ("output.LayerNorm", "attn_layer_norm", "final_layer_norm"):  # The first is never applied.
            weights.norm(prefix + name)
    if normalize_before:
        weights.norm("roberta.encoder.layer_norm")
    make_roberta_head(weights, labels)
    weights.make("sbo_head.position_embeddings.weight", 10, 20)
    for layer, inputs in enumerate((2 * WIDTH + 20, WIDTH)):
        weights.linear(f"sbo_head.mlp_layer_norm.layers.{layer}.layer", WIDTH, inputs)
        weights.norm(f"sbo_head.mlp_layer_norm.layers.{layer}.norm")
    weights.make("sbo_head.bias", VOCABULARY)
    aliases["sbo_head.decoder.weight"] = "roberta.embeddings.word_embeddings.weight"
    if not labels:
        aliases["lm_head.decoder.weight"] = "roberta.embeddings.word_embeddings.weight"
        aliases["lm_head.decoder.bias"] = "lm_head.bias"

    def run(ids):
        x = embed(weights, "roberta.", ids, PAD + 1)
        for layer in range(LAYERS):
            prefix = f"roberta.encoder.layer.{layer}."
            normed = weights.normed(prefix + "attn_layer_norm", x, epsilon)
            compressed = []
            for letter in "kv":
                name = f"{prefix}attention.compress_{letter}.weight"
                short = weights[aliases.get(name, name)][:, : len(ids)] @ normed
                compressed.append(split_heads(weights.apply(f"{prefix}attention.{letter}_proj", short), HEADS))
            q = split_heads(weights.apply(prefix + "attention.q_proj", normed), HEADS)
            context = attend(q, *compressed, (WIDTH // HEADS) ** -0.5)
            x = x + weights.apply(prefix + "attention.out_proj", context)
            inner = torch.relu(weights.apply(prefix + "intermediate.dense",
                                             weights.normed(prefix + "final_layer_norm", x, epsilon)))
            x = x + weights.apply(prefix + "output.dense", inner)
        if normalize_before:
            x = weights.normed("roberta.encoder.layer_norm", x, epsilon)
        return {"features": x, "logits": roberta_head(weights, x, epsilon)}

    # The settings of JargonConfig, and some of RobertaConfig. num_attention_heads and num_hidden_layers have the
    # defaults of RobertaConfig, because Jargon's classes don't read them.
    config = dict(
        model_type="jargon", architectures=["JargonForSequenceClassification" if labels else "JargonForMaskedLM"],
        add_bias_kv=False, add_pooling_layer=False, add_zero_attn=False, activation="relu", bias=True, bos_token_id=0,
        classifier_dropout=None, compress_layer=1, compressed=4, dim_feedforward=INNER, dropout=0.1, embed_dim=WIDTH,
        encoder_attention_heads=HEADS, encoder_decoder_attention=False, encoder_embed_dim=WIDTH,
        encoder_ffn_embed_dim=INNER, encoder_normalize_before=normalize_before, eos_token_id=2, freeze_compress=0,
        hidden_act="relu", hidden_size=WIDTH, intermediate_act_fn="relu", intermediate_size=INNER,
        layer_norm_eps=epsilon, layernorm_embedding=False, max_position_embeddings=POSITIONS + PAD + 1,
        max_positions=POSITIONS, num_attention_heads=12, num_heads=16, num_hidden_layers=12, num_layers=LAYERS,
        pad_token_id=PAD, position_embedding_type="learned", q_noise=0, qn_block_size=8, quant_noise_pq=0.0,
        quant_noise_pq_block_size=8, quant_noise_scalar=0, self_attention=True, shared_kv_compressed=0,
        shared_layer_kv_compressed=int(shared_layer), type_vocab_size=1, untie_weights_roberta=False, use_cache=True,
        vocab_size=VOCABULARY)
    write_case(root, "jargon", case, weights, config, run, f"JargonConfig, shared_layer_kv_compressed {shared_layer}",
               aliases)


def pull_request(root, case, share_projection, seed, labels):
    epsilon, prefix_of_all, weights = 1e-12, "linformer.", Weights(seed)
    make_embedding(weights, prefix_of_all, POSITIONS)
    for layer in range(LAYERS):
        prefix = f"linformer.encoder.layer.{layer}."
        make_bert_layer(weights, prefix)
        weights.make(prefix + "attention.self.key_projection", HEADS, K, POSITIONS)
        if not share_projection:
            weights.make(prefix + "attention.self.value_projection", HEADS, K, POSITIONS)
    if labels:
        weights.linear("classifier.dense", WIDTH, WIDTH)
        weights.linear("classifier.out_proj", labels, WIDTH)
    else:
        weights.linear("cls.predictions.transform.dense", WIDTH, WIDTH)
        weights.norm("cls.predictions.transform.LayerNorm")
        weights.make("cls.predictions.bias", VOCABULARY)

    def run(ids):
        """Runs a text padded to seq_length tokens. The keys and values of padding are zero."""
        n, mask = len(ids), torch.arange(POSITIONS)[:, None] < len(ids)
        x = embed(weights, prefix_of_all, torch.cat([ids, torch.full((POSITIONS - n,), PAD)]), 0)
        x = weights.normed("linformer.embeddings.LayerNorm", x, epsilon)
        for layer in range(LAYERS):
            prefix = f"linformer.encoder.layer.{layer}."
            q, k, v = [weights.apply(prefix + "attention.self." + part, x) for part in ("query", "key", "value")]
            projection = weights[prefix + "attention.self.key_projection"]
            keys = projection @ split_heads(k * mask, HEADS)
            values = weights.get(prefix + "attention.self.value_projection", projection) @ split_heads(v * mask, HEADS)
            context = attend(split_heads(q, HEADS), keys, values, (WIDTH // HEADS) ** -0.5)
            x = bert_layer(weights, prefix, x, context, epsilon)
        x = x[:n]
        if labels:
            logits = weights.apply("classifier.out_proj", F.gelu(weights.apply("classifier.dense", x[0])))
        else:
            y = weights.normed("cls.predictions.transform.LayerNorm",
                               F.gelu(weights.apply("cls.predictions.transform.dense", x)), epsilon)
            logits = F.linear(y, weights["linformer.embeddings.word_embeddings.weight"], weights["cls.predictions.bias"])
        return {"features": x, "logits": logits}

    architecture = "LinformerForSequenceClassification" if labels else "LinformerForMaskedLM"
    config = dict(ROBERTA, model_type="linformer", architectures=[architecture], hidden_act="gelu",
                  layer_norm_eps=epsilon, max_position_embeddings=POSITIONS, seq_length=POSITIONS, k=K,
                  share_projection=share_projection)
    write_case(root, "transformers-linformer", case, weights, config, run,
               f"transformers' pull request 10587, share_projection {share_projection}")


# The next two functions make the weights of lucidrains' layer and compute the layer. It has a norm before the attention
# and one before the FFN.


def make_layer(weights, norm, attention, ffn_norm, ffn, one_kv_head=False, share_kv=False):
    keys = WIDTH // HEADS if one_kv_head else WIDTH
    weights.norm(norm)
    weights.linear(attention + "to_q", WIDTH, WIDTH, bias=False)
    for letter in "k" if share_kv else "kv":
        weights.linear(attention + "to_" + letter, keys, WIDTH, bias=False)
        weights.make(attention + "proj_" + letter, POSITIONS, K)
    weights.linear(attention + "to_out", WIDTH, WIDTH)
    weights.norm(ffn_norm)
    weights.linear(ffn + "w1", INNER, WIDTH)
    weights.linear(ffn + "w2", WIDTH, INNER)


def layer_of(weights, norm, attention, ffn_norm, ffn, x, renorm):
    """With `renorm` compressed rows are scaled as masked-linformer scales them if a mask is given."""
    normed, n = weights.normed(norm, x, 1e-5), len(x)
    q = split_heads(weights.apply(attention + "to_q", normed), HEADS)
    compressed = []
    for letter in "kv":
        own = letter if attention + "to_v.weight" in weights else "k"
        rows, projection = weights.apply(attention + "to_" + own, normed), weights[attention + "proj_" + own]
        short = projection[:n].T @ rows
        if renorm:
            whole = projection.pow(2).sum(0).sqrt()
            short = short * (whole / projection[:n].pow(2).sum(0).clamp_min(1e-16).sqrt())[:, None]
        compressed.append(split_heads(short, short.shape[1] * HEADS // WIDTH))
    x = x + weights.apply(attention + "to_out", attend(q, *compressed, (WIDTH // HEADS) ** -0.5))
    inner = F.gelu(weights.apply(ffn + "w1", weights.normed(ffn_norm, x, 1e-5)))
    return x + weights.apply(ffn + "w2", inner)


def masked_linformer(root, case, seed, renorm, **options):
    weights = Weights(seed)
    weights.make("token_emb.weight", VOCABULARY, WIDTH, width=1.0)
    weights.make("pos_emb.weight", POSITIONS, WIDTH)
    names = [[f"linformer.layers.{layer}.{part}" for part in ("0", "1.", "2", "3.")] for layer in range(LAYERS)]
    for layer in names:
        make_layer(weights, *layer, **options)
    weights.linear("to_logits", VOCABULARY, WIDTH)

    def run(ids):
        x = weights["token_emb.weight"][ids] + weights["pos_emb.weight"][: len(ids)]
        for layer in names:
            x = layer_of(weights, *layer, x, renorm)
        return {"features": x, "logits": weights.apply("to_logits", x)}

    config = dict(num_tokens=VOCABULARY, dim=WIDTH, seq_len=POSITIONS, depth=LAYERS, k=K, heads=HEADS, renorm=renorm,
                  pad_id=PAD, **options)
    write_case(root, "lucidrains", case, weights, config, run, "LinformerLM of masked-linformer",
               lengths=(POSITIONS, 6, 1))


def own_around_lucidrains(root):
    """nn.Embedding, a parameter of positions, Linformer, a norm, the mean, and two Linears with a tanh between."""
    weights = Weights(110)
    weights.make("words.weight", VOCABULARY, WIDTH, width=1.0)
    weights.make("places", 1, POSITIONS + 2, WIDTH)  # More positions than the encoder takes.
    names = [[f"body.net.layers.{layer}.{part}" for part in ("0.norm", "0.fn.", "1.norm", "1.fn.")]
             for layer in range(LAYERS)]
    for layer in names:
        make_layer(weights, *layer)
    weights.norm("last_norm")
    weights.linear("top.0", 7, WIDTH)
    weights.linear("top.2", 3, 7)

    def run(ids):
        x = weights["words.weight"][ids] + weights["places"][0, : len(ids)]
        for layer in names:
            x = layer_of(weights, *layer, x, False)
        x = weights.normed("last_norm", x, 1e-5)
        return {"features": x, "logits": weights.apply("top.2", torch.tanh(weights.apply("top.0", x.mean(dim=0))))}

    config = dict(heads=HEADS, encoder_prefix="body", embedding="words", positions="places", norm="last_norm",
                  pooling="mean", head_dense="top.0", head_activation="tanh", head="top.2",
                  labels=["bad", "middling", "good"])
    write_case(root, "own_classifier", "lucidrains", weights, config, run, "a classifier around the package linformer")


def own_around_tatp22(root):
    """nn.Embedding and positions, Linformer with norms after attention and FFN, the first row, and a Linear."""
    weights = Weights(111)
    weights.make("model.embed.weight", VOCABULARY, WIDTH, width=1.0)
    weights.make("model.position.weight", POSITIONS, WIDTH)
    for layer in range(LAYERS):
        prefix = f"model.encoder.seq.{2 * layer}."
        for head in range(HEADS):
            for letter in "EF":
                weights.linear(f"{prefix}fn.heads.{head}.{letter}", K, POSITIONS)
            for letter in "qkv":
                weights.linear(f"{prefix}fn.to_{letter}.{head}", WIDTH // HEADS, WIDTH, bias=False)
        weights.linear(prefix + "fn.w_o", WIDTH, WIDTH)
        weights.norm(prefix + "norm")
        prefix = f"model.encoder.seq.{2 * layer + 1}."
        weights.linear(prefix + "fn.w_1", INNER, WIDTH)
        weights.linear(prefix + "fn.w_2", WIDTH, INNER)
        weights.norm(prefix + "norm")
    weights.linear("model.out", 1, WIDTH)

    def run(ids):
        x = weights["model.embed.weight"][ids] + weights["model.position.weight"][: len(ids)]
        for layer in range(LAYERS):
            prefix, contexts = f"model.encoder.seq.{2 * layer}.", []
            for head in range(HEADS):
                q, k, v = [weights.apply(f"{prefix}fn.to_{letter}.{head}", x) for letter in "qkv"]
                keys, values = [weights[f"{prefix}fn.heads.{head}.{letter}.weight"] @ rows
                                + weights[f"{prefix}fn.heads.{head}.{letter}.bias"][:, None]
                                for letter, rows in (("E", k), ("F", v))]
                contexts.append(attend(q[None], keys[None], values[None], (WIDTH // HEADS) ** -0.5))
            x = weights.normed(prefix + "norm", x + weights.apply(prefix + "fn.w_o", torch.cat(contexts, 1)), 1e-5)
            prefix = f"model.encoder.seq.{2 * layer + 1}."
            inner = F.gelu(weights.apply(prefix + "fn.w_1", x))
            x = weights.normed(prefix + "norm", x + weights.apply(prefix + "fn.w_2", inner), 1e-5)
        return {"features": x, "logits": weights.apply("model.out", x[0])}

    config = dict(activation="gelu", full_attention=False, causal=False, decoder_mode=False, encoder_prefix="encoder",
                  embedding="embed", positions="position.weight", pooling="first", head="out", head_kind="regression")
    # The package takes texts of exactly N tokens.
    write_case(root, "own_classifier", "tatp22", weights, config, run,
               "a classifier around the package linformer-pytorch", lengths=(POSITIONS,))


def main():
    root = pathlib.Path(sys.argv[1])
    cald(root, "labels", "none", 100, 3)
    cald(root, "masked_lm", "layer", 101, None)
    jargon(root, "masked_lm", True, True, 102, None)
    jargon(root, "labels", False, False, 103, 3)
    pull_request(root, "masked_lm", False, 104, None)
    pull_request(root, "labels", True, 105, 3)
    masked_linformer(root, "masked_lm", 106, True)
    masked_linformer(root, "masked_shared", 107, True, one_kv_head=True, share_kv=True)
    own_around_lucidrains(root)
    own_around_tatp22(root)


if __name__ == "__main__":
    main()
