"""Replaces the attention of encoders of `transformers`, and keeps their weights.

Most encoders look up the function that computes attention in a registry, and this module registers its own. MPNet and
RoFormer don't use the registry, so the `forward` of their attention modules is replaced.
"""
import math
import types

from transformers import AttentionInterface

from linearise.attention import attend, full_attention
from linearise.errors import UserError

IMPLEMENTATION = "linformer"

# The supported values of model_type, and how each model gets its positions. The converter can read all of them.
POSITIONS = {"bert": "table", "roberta": "table", "xlm-roberta": "table", "camembert": "table", "electra": "table",
             "distilbert": "table", "albert": "table", "mpnet": "bias", "roformer": "rotary", "modernbert": "rotary",
             "nomic_bert": "rotary"}


class Attentions:
    """Computes the attention of all layers of one model. The index of a layer is the number of calls since begin(),
    because the layers of ALBERT share one module."""

    def __init__(self, plan, compressions):
        self.plan, self.compressions = plan, compressions
        self.batch, self.called = None, 0
        self.watch = None  # If set, it is called with layer, query, key, value, scale and bias for each layer.

    def begin(self, batch):
        self.batch, self.called = batch, 0

    def __call__(self, query, key, value, scale, window=None, bias=None, dropout=0.0):
        layer = self.called
        self.called += 1
        if self.watch is not None:
            self.watch(layer, query, key, value, scale, bias)
        plan = self.plan[layer]
        if plan is None:
            return full_attention(query, key, value, self.batch, scale, window, bias, dropout)
        return attend(query, key, value, self.batch, self.compressions.get(layer), plan, scale, bias, dropout)


def registered_attention(module, query, key, value, attention_mask=None, scaling=None, dropout=0.0, **unused):
    """Computes attention for models that use the registry. Its parameters are those of transformers."""
    window = getattr(module, "sliding_window", None)
    window = None if window is None else window - 1
    scale = scaling if scaling is not None else query.shape[-1] ** -0.5
    context = module.linformer_attentions(query, key, value, scale, window, None, dropout)
    return context.transpose(1, 2).contiguous(), None


AttentionInterface.register(IMPLEMENTATION, registered_attention)


def split_heads(module, states):
    return states.view(*states.shape[:2], module.num_attention_heads, -1).transpose(1, 2)


def mpnet_forward(self, hidden_states, attention_mask=None, position_bias=None, output_attentions=False, **unused):
    query, key, value = (split_heads(self, linear(hidden_states)) for linear in (self.q, self.k, self.v))
    dropout = self.dropout.p if self.training else 0.0
    context = self.linformer_attentions(query, key, value, 1 / math.sqrt(query.shape[-1]), None, position_bias, dropout)
    return (self.o(context.transpose(1, 2).reshape(hidden_states.shape[0], hidden_states.shape[1], -1)),)


def roformer_forward(self, hidden_states, attention_mask=None, sinusoidal_pos=None, *unused, **also_unused):
    query, key, value = (split_heads(self, linear(hidden_states)) for linear in (self.query, self.key, self.value))
    if self.rotary_value:
        query, key, value = self.apply_rotary_position_embeddings(sinusoidal_pos, query, key, value)
    else:
        query, key = self.apply_rotary_position_embeddings(sinusoidal_pos, query, key)
    dropout = self.dropout.p if self.training else 0.0
    context = self.linformer_attentions(query, key, value, 1 / math.sqrt(query.shape[-1]), None, None, dropout)
    return context.transpose(1, 2).reshape(hidden_states.shape[0], hidden_states.shape[1], -1), None


OWN_FORWARD = {"MPNetSelfAttention": mpnet_forward, "RoFormerSelfAttention": roformer_forward}
WITH_REGISTRY = ("BertSelfAttention", "RobertaSelfAttention", "XLMRobertaSelfAttention", "CamembertSelfAttention",
                 "ElectraSelfAttention", "DistilBertSelfAttention", "AlbertAttention", "ModernBertAttention",
                 "NomicBertAttention")


def check_family(config):
    if config.model_type not in POSITIONS:
        raise UserError(f"models of the type {config.model_type!r} can't be linearised: the types are "
                        f"{', '.join(POSITIONS)}.")


def replace_attention(model, attentions):
    """Makes every attention module of the model call `attentions`."""
    replaced = 0
    for module in model.modules():
        name = type(module).__name__
        if name in OWN_FORWARD:
            module.forward = types.MethodType(OWN_FORWARD[name], module)
        elif name not in WITH_REGISTRY:
            continue
        object.__setattr__(module, "linformer_attentions", attentions)  # So it doesn't enter the model's state dict.
        replaced += 1
    if replaced == 0:
        raise UserError(f"{type(model).__name__} has no attention module that linearise knows.")
    model.config._attn_implementation = IMPLEMENTATION
