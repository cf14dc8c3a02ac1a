"""Runs the encoder in PyTorch as its documentation recommends, with torch.nn and scaled_dot_product_attention."""
import torch
import torch.nn.functional as F
from safetensors.torch import load_file

from .weights import Shape


def linear(weights, name):
    rows, columns = weights[name + ".weight"].shape
    layer = torch.nn.Linear(columns, rows, device="meta")
    layer.weight = torch.nn.Parameter(weights[name + ".weight"])
    layer.bias = torch.nn.Parameter(weights[name + ".bias"])
    return layer


def norm(weights, name, eps):
    layer = torch.nn.LayerNorm(weights[name + ".weight"].shape[0], eps=eps, device="meta")
    layer.weight = torch.nn.Parameter(weights[name + ".weight"])
    layer.bias = torch.nn.Parameter(weights[name + ".bias"])
    return layer


class Layer(torch.nn.Module):
    def __init__(self, weights, shape, index):
        super().__init__()
        self.head_count = shape.heads
        part = f"layers.{index}."
        for name in ("query", "key", "value", "output", "ffn_in", "ffn_out"):
            setattr(self, name, linear(weights, part + name))
        for name in ("attention_norm", "ffn_norm"):
            setattr(self, name, norm(weights, part + name, shape.eps))

    def heads(self, x):
        return x.view(x.shape[0], x.shape[1], self.head_count, -1).transpose(1, 2)

    def forward(self, x, projection):
        source = x if projection is None else torch.matmul(projection, x)
        context = F.scaled_dot_product_attention(self.heads(self.query(x)), self.heads(self.key(source)),
                                                 self.heads(self.value(source)))
        x = self.attention_norm(x + self.output(context.transpose(1, 2).reshape(x.shape)))
        return self.ffn_norm(x + self.ffn_out(F.gelu(self.ffn_in(x))))


class Encoder(torch.nn.Module):
    def __init__(self, path, shape, n):
        super().__init__()
        weights, shape = load_file(path), Shape(**shape)  # The file is mapped and not copied.
        self.tokens = torch.nn.Embedding.from_pretrained(weights["tokens"])
        added = weights["positions"][shape.first:shape.first + n] + (weights["types"][0] if "types" in weights else 0)
        self.register_buffer("added", added)
        self.register_buffer("projection", weights["compress"][:, :n].contiguous() if shape.k else None)
        self.norm = norm(weights, "norm", shape.eps)
        self.layers = torch.nn.ModuleList(Layer(weights, shape, index) for index in range(shape.layers))

    def forward(self, ids):
        x = self.norm(self.tokens(ids) + self.added)
        for layer in self.layers:
            x = layer(x, self.projection)
        return x
