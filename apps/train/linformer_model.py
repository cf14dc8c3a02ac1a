"""The Linformer text classifier of fairseq (linformer_roberta, post-norm), module for module.

The attributes have fairseq's names, so state_dict() is the "model" part of a fairseq file.

The result for a text does not depend on its batch. A batch is padded, but pad rows are zeroed before each compression,
so that E x equals E[:, :n] x of the n tokens without padding. fairseq itself zeroes pad rows only before the first
layer, so its results depend on the padding.
"""

import math

import torch
from torch import nn
from torch.nn import functional as F

BOS, PAD, EOS, UNK = 0, 1, 2, 3
HEAD_NAME = "sentence_classification_head"
# Positions count from PAD + 1, so the table of positions has this many rows more than the longest text has tokens.
POSITION_ROWS = PAD + 1
# The scale of first token vectors. A layer norm follows, so the scale only sets how far a training step turns a token's
# vector. On IMDB, 0.4 gave a better validation accuracy than 0.1 (which overfits sooner) and 1 (which learns too
# slowly).
TOKEN_VECTOR_SCALE = 0.4


class LinearAttention(nn.Module):
    """Attention of each row to k compressed rows. E is applied before the projections of keys and values."""

    def __init__(self, config, shared_layer):
        super().__init__()
        width = config.d_model
        self.heads = config.heads
        self.dropout = config.dropout
        self.k_proj = nn.Linear(width, width)
        self.v_proj = nn.Linear(width, width)
        self.q_proj = nn.Linear(width, width)
        self.out_proj = nn.Linear(width, width)
        self.compress_k = shared_layer or nn.Linear(config.max_tokens, config.k, bias=False)
        if not config.shares_key_value:
            self.compress_v = shared_layer or nn.Linear(config.max_tokens, config.k, bias=False)

    @staticmethod
    def compressed(projection, weight, real):
        """Returns (E x) W + b. If x has fewer rows than E x, it is computed as E (x W) + b, which is less work."""
        if weight.shape[1] < weight.shape[0]:
            return torch.matmul(weight, F.linear(real, projection.weight)) + projection.bias
        return projection(torch.matmul(weight, real))

    def forward(self, x, keep, rows):
        batch, n, width = x.shape
        real = x * keep
        # fairseq's files contain biases of the compression layers, which are never used.
        keys = self.compressed(self.k_proj, self.compress_k.weight[:, :n], real)
        value_weight = self.compress_v.weight if hasattr(self, "compress_v") else self.compress_k.weight
        values = self.compressed(self.v_proj, value_weight[:, :n], real)

        def split(t):
            return t.view(batch, -1, self.heads, width // self.heads).transpose(1, 2)

        queries = self.q_proj(x[:, :rows]) * (width // self.heads) ** -0.5
        scores = torch.matmul(split(queries), split(keys).transpose(2, 3))
        weights = F.dropout(F.softmax(scores, dim=-1), self.dropout, self.training)
        mixed = torch.matmul(weights, split(values)).transpose(1, 2).reshape(batch, -1, width)
        return self.out_proj(mixed)


class EncoderLayer(nn.Module):
    def __init__(self, config, shared_layer):
        super().__init__()
        self.dropout = config.dropout
        self.self_attn = LinearAttention(config, shared_layer)
        self.self_attn_layer_norm = nn.LayerNorm(config.d_model)
        self.fc1 = nn.Linear(config.d_model, config.ffn)
        self.fc2 = nn.Linear(config.ffn, config.d_model)
        self.final_layer_norm = nn.LayerNorm(config.d_model)
        self.register_buffer("version", torch.tensor(2, dtype=torch.int64))

    def forward(self, x, keep, rows):
        mixed = F.dropout(self.self_attn(x, keep, rows), self.dropout, self.training)
        x = self.self_attn_layer_norm(x[:, :rows] + mixed)
        mixed = F.dropout(self.fc2(F.gelu(self.fc1(x))), self.dropout, self.training)
        return self.final_layer_norm(x + mixed)


class SentenceEncoder(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.dropout = config.dropout
        self.embed_tokens = nn.Embedding(config.vocab_size, config.d_model, padding_idx=PAD)
        self.embed_positions = nn.Embedding(
            config.max_tokens + POSITION_ROWS, config.d_model, padding_idx=PAD)
        self.layernorm_embedding = nn.LayerNorm(config.d_model)
        self.compress_layer = nn.Linear(config.max_tokens, config.k) if config.shares_layers else None
        self.layers = nn.ModuleList(
            EncoderLayer(config, self.compress_layer) for _ in range(config.layers))
        self.register_buffer("version", torch.tensor([3.0]))

    def forward(self, tokens, rows=None):
        """Returns the first `rows` hidden states, [batch, rows, d_model], or all of them if `rows` is None."""
        mask = tokens.ne(PAD)
        positions = torch.cumsum(mask, dim=1) * mask + PAD
        keep = mask.unsqueeze(-1).to(self.embed_tokens.weight.dtype)
        x = self.embed_tokens(tokens) + self.embed_positions(positions)
        x = F.dropout(self.layernorm_embedding(x), self.dropout, self.training)
        last = len(self.layers) - 1
        for index, layer in enumerate(self.layers):
            # If the caller needs only the first rows, the last layer computes only these.
            wanted = rows if index == last and rows is not None else x.shape[1]
            x = layer(x, keep, wanted)
        return x


class Encoder(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.sentence_encoder = SentenceEncoder(config)
        self.register_buffer("version", torch.tensor(2, dtype=torch.int64))


class ClassificationHead(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.dropout = config.pooler_dropout
        self.dense = nn.Linear(config.d_model, config.d_model)
        self.out_proj = nn.Linear(config.d_model, config.classes)

    def forward(self, x):
        x = torch.tanh(self.dense(F.dropout(x, self.dropout, self.training)))
        return self.out_proj(F.dropout(x, self.dropout, self.training))


class LinformerClassifier(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.config = config
        self.encoder = Encoder(config)
        self.classification_heads = nn.ModuleDict({HEAD_NAME: ClassificationHead(config)})

    def forward(self, tokens):
        x = self.encoder.sentence_encoder(tokens, rows=1)
        return self.classification_heads[HEAD_NAME](x[:, 0])

    def compressions(self):
        """Returns the different compression layers, in the order of the layers."""
        found = []
        for layer in self.encoder.sentence_encoder.layers:
            attention = layer.self_attn
            for candidate in (attention.compress_k, getattr(attention, "compress_v", None)):
                if candidate is not None and all(candidate is not other for other in found):
                    found.append(candidate)
        return found


def initialise(model, compress_init):
    """Sets the first weights. The caller must seed the random generator before."""
    for module in model.modules():
        if isinstance(module, nn.Linear):
            nn.init.xavier_uniform_(module.weight)
            if module.bias is not None:
                nn.init.zeros_(module.bias)
        elif isinstance(module, nn.Embedding):
            nn.init.normal_(module.weight, std=0.02)
            with torch.no_grad():
                module.weight[PAD].zero_()
    for layer in model.compressions():
        k, n = layer.weight.shape
        if compress_init == "random":
            nn.init.xavier_uniform_(layer.weight, gain=math.sqrt(0.5))
            continue
        # Each compressed row is a mean of n / k rows: of neighbouring rows, or of every k-th row.
        columns = torch.arange(n)
        owner = columns * k // n if compress_init == "blocks" else columns % k
        with torch.no_grad():
            nn.init.normal_(layer.weight, std=0.01)
            layer.weight[owner, columns] += math.sqrt(k / n)


def set_token_vectors(model, vectors):
    """Adds learned token vectors, whose components are about 1. Tokens with zeros keep their random vectors."""
    weight = model.encoder.sentence_encoder.embed_tokens.weight
    with torch.no_grad():
        weight += TOKEN_VECTOR_SCALE * torch.from_numpy(vectors)
