"""The sizes and settings of a model, and fairseq's arguments for them."""

import argparse
from dataclasses import dataclass

SHARING_MODES = ("none", "kv", "layer", "layer_kv")


# This program is for small models. If a model is larger, a size was probably mistyped.
MOST_PARAMETERS = 2 * 10 ** 9


class UserError(Exception):
    """An error that the user can correct. It is shown as one line, and the exit status is 2."""


@dataclass
class ModelConfig:
    vocab_size: int
    max_tokens: int
    k: int
    d_model: int
    layers: int
    heads: int
    ffn: int
    classes: int
    sharing: str
    dropout: float = 0.0
    pooler_dropout: float = 0.0

    @property
    def shares_key_value(self):
        return self.sharing in ("kv", "layer_kv")

    @property
    def shares_layers(self):
        return self.sharing in ("layer", "layer_kv")

    def check(self):
        for name in ("max_tokens", "k", "d_model", "layers", "heads", "ffn"):
            if getattr(self, name) < 1:
                raise UserError(f"{option(name)} must be at least 1")
        if self.max_tokens < 4:
            raise UserError("--max-tokens must be at least 4")
        if self.d_model % self.heads:
            raise UserError(f"--d-model {self.d_model} is not a multiple of --heads {self.heads}")
        if self.k > self.max_tokens:
            raise UserError(f"--k {self.k} is more than --max-tokens {self.max_tokens}")
        if self.parameters() > MOST_PARAMETERS:
            raise UserError(f"a model of these sizes has {self.parameters()} parameters, "
                            f"more than {MOST_PARAMETERS}")
        ratio = self.max_tokens // self.k
        if self.max_tokens // ratio != self.k:
            # fairseq stores the ratio as a whole number, so other values of k can't be written.
            raise UserError(
                f"--k {self.k} is not --max-tokens divided by a whole number; the nearest are "
                f"{self.max_tokens // (ratio + 1)} and {self.max_tokens // ratio}")

    def parameters(self):
        """Returns the number of parameters without biases and norms."""
        compressions = (1 if self.shares_layers else self.layers) * (1 if self.shares_key_value else 2)
        return (self.d_model * (self.vocab_size + self.max_tokens)
                + self.layers * self.d_model * (4 * self.d_model + 2 * self.ffn)
                + compressions * self.k * self.max_tokens)

    def to_namespace(self):
        """Returns fairseq's arguments of the architecture linformer_roberta for this model."""
        return argparse.Namespace(
            arch="linformer_roberta", task="sentence_prediction", criterion="sentence_prediction",
            num_classes=self.classes, classification_head_name="sentence_classification_head",
            encoder_layers=self.layers, encoder_embed_dim=self.d_model,
            encoder_ffn_embed_dim=self.ffn, encoder_attention_heads=self.heads,
            max_positions=self.max_tokens, tokens_per_sample=self.max_tokens,
            max_source_positions=self.max_tokens, compressed=self.max_tokens // self.k,
            shared_kv_compressed=int(self.shares_key_value),
            shared_layer_kv_compressed=int(self.shares_layers), freeze_compress=0,
            dropout=self.dropout, attention_dropout=self.dropout, activation_dropout=0.0,
            pooler_dropout=self.pooler_dropout, activation_fn="gelu",
            pooler_activation_fn="tanh", encoder_layerdrop=0, encoder_layers_to_keep=None,
            quant_noise_pq=0, quant_noise_pq_block_size=8, quant_noise_scalar=0,
            untie_weights_roberta=False, no_token_positional_embeddings=False,
            encoder_learned_pos=True, layernorm_embedding=True, no_scale_embedding=True,
            encoder_normalize_before=False, adaptive_input=False,
            spectral_norm_classification_head=False, lm_head_omitted=True)


def option(name):
    return "--" + name.replace("_", "-")


def sharing_of(shared_key_value, shared_layers):
    return SHARING_MODES[int(bool(shared_key_value)) + 2 * int(bool(shared_layers))]
